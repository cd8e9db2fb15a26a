"use strict";
// The owner's page: asks for the state every few seconds and draws it. Names and texts become text nodes.
const $ = (id) => document.getElementById(id);
let last = "";

function make(tag, text, options = {}) {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  for (const [name, value] of Object.entries(options)) node.setAttribute(name, value);
  return node;
}
function draw(tag, options) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(options)) node.setAttribute(name, value);
  return node;
}
const percent = (share) => (share === null ? "" : `${Math.round(100 * share)} %`);
const number = (value) => value.toLocaleString("en");
const score = (value) => value.toFixed(2).replace("-", "−");
const hourOf = (hour) => new Date(hour + ":00Z").toLocaleString("en", {day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hour12: false});

function named(name, remark) {
  const cell = make("td", undefined, {class: "name", title: name});
  cell.append(make("span", name));
  if (remark) cell.append(make("small", remark));
  return cell;
}

function interval(low, middle, high, from, to) {
  const at = (value) => (100 * (value - from)) / (to - from || 1);
  const svg = draw("svg", {viewBox: "0 0 100 10", preserveAspectRatio: "none", role: "img", "aria-label": `${score(middle)}, from ${score(low)} to ${score(high)}`});
  svg.append(draw("line", {class: "zero", x1: at(0), x2: at(0), y1: 0, y2: 10, "vector-effect": "non-scaling-stroke"}));
  svg.append(draw("line", {x1: at(low), x2: at(high), y1: 5, y2: 5, "vector-effect": "non-scaling-stroke"}));
  svg.append(draw("line", {x1: at(middle), x2: at(middle), y1: 1, y2: 9, "vector-effect": "non-scaling-stroke"}));
  return svg;
}

function votesNeeded(board, k) {
  const n = Math.min(k, board.needed.length), first = n === 1 ? "the first is" : `the first ${n} are`;
  const places = [...Array(n).keys()].filter((place) => !board.apart[place]);
  if (!places.length) return `${first} told apart`;
  const worst = places.reduce((a, b) => ((board.needed[a] ?? Infinity) >= (board.needed[b] ?? Infinity) ? a : b));
  const sum = places.reduce((total, place) => total + (board.needed[place] ?? Infinity), 0), digits = 10 ** Math.max(0, Math.floor(Math.log10(sum)) - 1);
  const votes = sum > 20000 ? "more than 20,000" : `about ${number(digits * Math.ceil(sum / digits))}`;
  return `${votes} more votes on neighbours until ${first} told apart` + (places.length > 1 ? `, most of them on ranks ${worst + 1} and ${worst + 2}` : "");
}

function chartOf(counts, hours, label, kind = "") {
  const most = Math.max(1, ...hours.map((hour) => counts[hour] || 0));
  const chart = draw("svg", {class: kind, viewBox: `0 0 ${2 * Math.max(24, hours.length)} 20`, preserveAspectRatio: "none", role: "img", "aria-label": label});
  hours.forEach((hour, place) => {
    const height = (20 * (counts[hour] || 0)) / most;
    if (height) chart.append(draw("rect", {x: 2 * place, width: 1.6, y: 20 - height, height}));
  });
  return chart;
}

function boardOf(board, said) {
  const section = make("section");
  const title = [said.questions.length > 1 ? said.questions[board.question] : "", board.category].filter(Boolean).join(" · ");
  section.append(make("h2", title ? `Leaderboard: ${title}` : "Leaderboard"));
  if (!board.items.length) { section.append(make("p", said.n_votes ? "The first scores are being computed." : "No votes yet.")); return section; }
  const more = votesNeeded(board, said.until.top || 5);
  section.append(make("p", `${number(board.n_votes)} votes, ${number(board.n_items)} items${board.n_without_votes ? `, ${number(board.n_without_votes)} of them without votes` : ""}; `
    + `reliability ${board.reliability.toFixed(2)}; widest interval ${board.width.toFixed(2)}; ${more}.`));
  const from = Math.min(...board.low), to = Math.max(...board.high);
  const table = make("table"), head = make("tr"), body = make("tbody");
  for (const [name, kind] of [["Rank", "number"], ["Item", ""], ["Score", "number"], ["95 % interval", ""], ["Ranks", "number"]]) head.append(make("th", name, {scope: "col", class: kind}));
  board.items.slice(0, 100).forEach((name, place) => {
    const row = make("tr"), bar = make("td", undefined, {class: "chart"});
    bar.append(interval(board.low[place], board.score[place], board.high[place], from, to));
    const ranks = board.rank_low[place] === board.rank_high[place] ? board.rank_low[place] : `${board.rank_low[place]}–${board.rank_high[place]}`;
    row.append(make("td", place + 1, {class: "number"}), named(name), make("td", score(board.score[place]), {class: "number"}), bar, make("td", ranks, {class: "number"}));
    body.append(row);
  });
  const top = make("thead");
  top.append(head);
  table.append(top, body);
  const box = make("div", undefined, {class: "scroll"});
  box.append(table);
  section.append(box);
  if (board.items.length > 100) section.append(make("p", `${number(board.n_items - 100)} more items; the download has all votes.`));
  return section;
}

function show(said) {
  const counts = {};
  for (const judge of said.judges) for (const [hour, n] of Object.entries(judge.hours)) counts[hour] = (counts[hour] || 0) + n;
  const hours = hoursBetween(Object.keys(counts)), thisHour = new Date().toISOString().slice(0, 13);
  const until = said.until.top ? `Collects until the first ${said.until.top} are told apart.` : said.until.width ? `Collects until no interval is wider than ${said.until.width}.` : "Collecting.";
  $("status").textContent = said.finished ? `Complete: ${said.finished}.` : until;
  $("link").href = new URL(said.link, location.href);
  $("link").textContent = $("link").href;
  const repeated = said.judges.reduce((sum, judge) => sum + judge.repeated, 0), same = said.judges.reduce((sum, judge) => sum + judge.same, 0);
  const figures = [[number(said.n_votes), "votes"], [number(said.judges.filter((judge) => judge.votes).length), "judges"], [number(said.n_items), "items"],
    [number(counts[thisHour] || 0), "votes this hour"], [repeated ? `${same} of ${repeated}` : "–", "same answer when asked again"]];
  $("figures").replaceChildren(...figures.map(([value, name]) => { const part = make("li"); part.append(make("b", value), make("span", name)); return part; }));
  $("boards").replaceChildren(...said.boards.map((board) => boardOf(board, said)));
  $("judges").replaceChildren(...said.judges.map((judge) => {
    const row = make("tr", undefined, judge.flagged ? {class: "warn"} : {}), chart = make("td", undefined, {class: "chart desk"});
    chart.append(chartOf(judge.hours, hours, `${judge.hours[thisHour] || 0} this hour`));
    row.append(named(judge.name, judge.withdrawn ? "withdrawn" : judge.flagged ? "disagrees more than by chance" : ""), make("td", number(judge.votes), {class: "number"}), chart);
    for (const text of [percent(judge.agreement), percent(judge.expected), judge.repeated ? `${judge.same} of ${judge.repeated}` : ""]) row.append(make("td", text, {class: "number"}));
    return row;
  }));
  const most = Math.max(0, ...hours.map((hour) => counts[hour] || 0));
  $("hours").replaceChildren(chartOf(counts, hours, `Votes by hour, at most ${number(most)}`, "hours"));
  $("span").textContent = hours.length ? `From ${hourOf(hours[0])}, ${hours.length} ${hours.length === 1 ? "hour" : "hours"}; at most ${number(most)} votes an hour.` : "No votes yet.";
}

function hoursBetween(known) {
  if (!known.length) return [];
  const end = Date.parse([...known].sort().at(-1) + ":00Z"), begin = Math.max(Date.parse([...known].sort()[0] + ":00Z"), end - 71 * 3600e3);
  return Array.from({length: (end - begin) / 3600e3 + 1}, (_, n) => new Date(begin + n * 3600e3).toISOString().slice(0, 13));
}

async function look() {
  try {
    const answer = await fetch("state", {cache: "no-store", signal: AbortSignal.timeout(20000)});
    const text = await answer.text();
    if (!answer.ok) throw new Error(text);
    if (text !== last) show(JSON.parse(text));
    last = text;
  } catch { $("status").textContent = "No connection to the server; what you see may be old."; last = ""; }
  setTimeout(look, document.hidden ? 15000 : 2500);
}
look();
