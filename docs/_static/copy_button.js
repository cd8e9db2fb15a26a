// A button on every block of code that copies it to the clipboard. Output (text blocks) has none; of a session with
// prompts only the input is copied.
document.addEventListener("DOMContentLoaded", () => {
  const input = (text) => {
    const lines = text.split("\n");
    for (const prompts of [[">>> ", "... "], ["$ "]]) {
      const typed = lines.filter((line) => prompts.some((prompt) => line.startsWith(prompt)));
      if (typed.length) return typed.map((line) => line.slice(prompts[0].length)).join("\n");
    }
    return text.replace(/\n$/, "");
  };
  const copy = async (text) => {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const area = document.body.appendChild(document.createElement("textarea"));
    area.value = text;
    area.select();
    document.execCommand("copy");
    area.remove();
  };
  const output = ".highlight-text, .highlight-none, .sphx-glr-script-out";
  for (const block of document.querySelectorAll("article div.highlight")) {
    if (block.closest(output) || block.querySelector("button.copy")) continue;
    const button = document.createElement("button");
    button.className = "copy";
    button.type = "button";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy this code");
    button.addEventListener("click", async () => {
      await copy(input(block.querySelector("pre").innerText));
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
    block.append(button);
  }
});
