"use strict";
// The page of a judge. What is not acknowledged stays in the browser and is sent again; the server counts it once.
const $ = (id) => document.getElementById(id);
const store = "kernelrank " + location.pathname;
const fresh = () => ({key: randomKey(), name: null, questions: [], tasks: [], queue: [], past: [], progress: {}});
let state = load();
let shownAt = 0, sending = false, paused = false, wait = 500, working = false;

function randomKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
function load() {
  try { return JSON.parse(localStorage.getItem(store)) || fresh(); } catch { return fresh(); }
}
function save() {
  try { localStorage.setItem(store, JSON.stringify(state)); } catch { /* a private window: the page works until it is closed */ }
}
function held() {
  const pairs = new Map();
  for (const task of [...state.tasks, ...state.queue.map((vote) => ({left: {number: vote.left}, right: {number: vote.right}}))]) {
    const pair = [task.left.number, task.right.number];
    pairs.set([...pair].sort().join(), pair);
  }
  return [...pairs.values()];
}
async function ask(path, body) {
  const answer = await fetch(path, {
    method: "POST", headers: {"content-type": "application/json"}, cache: "no-store",
    body: JSON.stringify({key: state.key, held: held(), ...body}), signal: AbortSignal.timeout(20000),
  });
  const said = await answer.json();
  if (answer.ok) return said;
  throw Object.assign(new Error(said.error || answer.status), {refused: answer.status >= 400 && answer.status < 500 && ![408, 429].includes(answer.status)});
}
function tell(text) { if ($("saved").textContent !== text) $("saved").textContent = text; }

function take(said) {
  const known = new Set([...state.tasks.map((task) => task.id), ...state.queue.map((vote) => vote.id)]);
  state.tasks.push(...(said.tasks || []).filter((task) => !known.has(task.id)));
  state.progress = said.progress;
  for (const task of state.tasks) for (const side of [task.left, task.right]) if (side.kind === "image") new Image().src = side.file;
  save();
}

// Votes ----------------------------------------------------------------------------------------------------------------

async function start() {
  try {
    const said = await ask("start", {name: state.name || ""});
    state.questions = said.questions;
    take(said);
    wait = 500;
  } catch (error) {
    if (error.refused) { tell(error.message); return; }
    tell("No connection; trying again.");
    setTimeout(start, wait = Math.min(2 * wait, 10000));
  }
  show();
  send();
}

function vote(answer) {
  const task = state.tasks[0];
  if (!task || paused || working || !visible("work")) return;
  state.tasks.shift();
  state.queue.push({
    id: task.id, question: task.question, left: task.left.number, right: task.right.number, answer,
    comment: $("comment").value, milliseconds: Math.round(performance.now() - shownAt),
  });
  $("comment").value = "";
  save();
  show();
  send();
}

function sent(vote) {
  state.queue = state.queue.filter((other) => other.id !== vote.id);  // another tab may have changed the queue
}

async function send() {
  if (sending) return;
  sending = true;
  while (state.queue.length) {
    const first = state.queue[0];
    tell("Saving …");
    try {
      const said = await ask("vote", first);
      sent(first);
      state.past = [...state.past, first.id].slice(-50);
      const waited = !state.tasks.length;
      take(said);
      wait = 500;
      tell("Saved.");
      if (waited || said.progress.finished) show(); else count();
    } catch (error) {
      if (error.refused) {
        sent(first);
        save();
        tell("One vote was not accepted: " + error.message);
        continue;
      }
      tell(`No connection: ${state.queue.length} ${state.queue.length === 1 ? "vote is" : "votes are"} kept here.`);
      await new Promise((done) => { setTimeout(done, wait); window.addEventListener("online", done, {once: true}); });
      wait = Math.min(2 * wait, 10000);
    }
  }
  sending = false;
  if (!state.tasks.length) show();
}

async function undo() {
  if (working || state.queue.length) { tell("Undo is possible once all votes are saved."); return; }
  const target = state.past[state.past.length - 1];
  if (!target) { tell("There is no vote to undo."); return; }
  working = true;
  try {
    const said = await ask("undo", {target});
    state.past.pop();
    state.tasks.unshift(said.again);
    take(said);
    tell("Undone. Please vote again.");
  } catch (error) {
    tell(error.refused ? error.message : "No connection: nothing was undone.");
    if (error.refused) { state.past.pop(); save(); }
  }
  working = false;
  show();
}

async function withdraw() {
  if (!confirm("Withdraw all of your votes? They will not count, and you cannot vote again.")) return;
  try {
    const said = await ask("withdraw", {});
    Object.assign(state, {tasks: [], queue: [], past: [], progress: said.progress});
    save();
    tell("Withdrawn.");
  } catch (error) { tell("Not withdrawn: " + error.message); }
  show();
}

// What is shown --------------------------------------------------------------------------------------------------------

function visible(id) { return !$(id).hidden; }

function fill(box, item, side) {
  // Texts become text nodes: nothing in them is HTML.
  let content;
  if (item.kind === "text") {
    content = document.createElement("p");
    content.textContent = item.text;
  } else {
    content = document.createElement(item.kind === "image" ? "img" : item.kind);
    content.src = item.file;
    if (item.kind === "image") content.alt = `The ${side} image`;
    else { content.controls = true; content.setAttribute("aria-label", `The ${side} recording`); }
  }
  box.replaceChildren(content);
  box.scrollTop = 0;
}

function count() {
  const {pairs, of} = state.progress;
  $("bar").hidden = !of;
  if (of) { $("bar").max = of; $("bar").value = Math.min(pairs, of); }
  const n = (state.progress.votes || 0) + state.queue.length;
  $("done").textContent = of ? `${Math.min(pairs, of)} of ${of} pairs` : `${n} ${n === 1 ? "vote" : "votes"}`;
  $("undo").disabled = !state.past.length;
}

function show() {
  const started = state.name !== null, {finished, withdrawn} = state.progress;
  const over = withdrawn || finished || (!state.tasks.length && !state.queue.length && state.questions.length > 0);
  const parts = {begin: !started, pause: started && paused, end: started && !paused && over, work: started && !paused && !over && state.tasks.length > 0};
  for (const [id, on] of Object.entries(parts)) $(id).hidden = !on;
  $("footer").hidden = !started;
  for (const id of ["stop", "undo", "withdraw"]) $(id).hidden = withdrawn;
  count();
  if (parts.end) {
    $("end-title").textContent = withdrawn ? "Your votes are withdrawn" : "Thank you";
    $("end-text").textContent = withdrawn ? "They do not count any more." : finished ? "The collection is complete." : "You have compared all pairs that there were for you.";
  }
  const task = state.tasks[0];
  if (!parts.work || !task) return;
  if ($("work").dataset.task !== task.id) {
    $("work").dataset.task = task.id;
    $("question").textContent = state.questions[task.question];
    fill($("left"), task.left, "left");
    fill($("right"), task.right, "right");
    shownAt = performance.now();
    if (document.activeElement !== $("comment")) $("question").focus({preventScroll: true});
  }
}

function pause(on) {
  paused = on;
  show();
  if (on) $("resume").focus();
}

const keys = {ArrowLeft: () => vote("left"), ArrowRight: () => vote("right"), ArrowDown: () => vote("tie"), " ": () => vote("cannot say"), u: undo, p: () => pause(!paused)};
document.addEventListener("keydown", (event) => {
  const inText = ["INPUT", "TEXTAREA", "AUDIO", "VIDEO"].includes(event.target.tagName);
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || inText || state.name === null) return;
  if (event.key === " " && event.target.tagName === "BUTTON") return;
  const box = event.target.closest(".item");  // where a long text is scrolled by the keys that vote elsewhere
  if (box && box.scrollHeight > box.clientHeight && ["ArrowDown", " "].includes(event.key)) return;
  const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (act) { event.preventDefault(); act(); }
});
$("comment").addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === "Escape") $("question").focus(); });
for (const button of document.querySelectorAll("[data-answer]")) button.addEventListener("click", () => vote(button.dataset.answer));
$("undo").addEventListener("click", undo);
$("stop").addEventListener("click", () => pause(!paused));
$("resume").addEventListener("click", () => pause(false));
$("withdraw").addEventListener("click", withdraw);
$("begin").addEventListener("submit", (event) => {
  event.preventDefault();
  state.name = $("name").value.trim();
  save();
  start();
});
window.addEventListener("storage", (event) => { if (event.key === store) { state = load(); show(); } });
show();
if (state.name !== null) start();
