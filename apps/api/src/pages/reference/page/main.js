/* The script of the reference: opens the targets of links, finds operations, copies examples, and starts trials. */
import { copyText, whileBusy } from "./dom.js";
import { copyKey, createKey, forgetKey } from "./key.js";
import { tryOutcome } from "./outcomes.js";
import { openTrial } from "./trial.js";

const contents = document.getElementById("contents");
const find = document.getElementById("find");
const noneFound = document.getElementById("none-found");

const openTarget = () => {
  if (contents.matches(":popover-open")) contents.hidePopover();
  const target = document.getElementById(location.hash.slice(1));
  if (target?.tagName !== "DETAILS") return;
  target.open = true;
  target.scrollIntoView();
};
addEventListener("hashchange", openTarget);
openTarget();

/** Shows only the operations, events and schemas whose titles contain all words, and their links. */
const filter = () => {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = new Set();
  for (const block of document.querySelectorAll("main details")) {
    const text = `${block.id} ${block.querySelector("summary").textContent}`.toLowerCase();
    block.hidden = !words.every((word) => text.includes(word));
    if (!block.hidden) found.add(block.id).add(block.closest("section").querySelector("h2").id);
  }
  const isShown = (id) => words.length === 0 || found.has(id);
  for (const section of document.querySelectorAll("main > section")) {
    section.hidden = !isShown(section.querySelector("h2").id);
  }
  for (const entry of contents.querySelectorAll("li")) entry.hidden = !isShown(entry.querySelector("a").hash.slice(1));
  noneFound.textContent = found.size === 0 ? "Nothing has these words." : "";
};
find.addEventListener("input", filter);

addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input, textarea, select")) return;
  event.preventDefault();
  if (getComputedStyle(contents).display === "none") contents.showPopover();
  find.focus();
});

const SHOWN_MS = 2000;
const copy = async (button) => {
  const { textContent } = button.closest("figure").querySelector("pre");
  button.textContent = (await copyText(textContent)) ? "Copied" : "Select it";
  setTimeout(() => {
    button.textContent = "Copy";
  }, SHOWN_MS);
};

/** The actions of buttons, by their attributes. */
const ACTIONS = {
  "#key-create": createKey,
  "#key-copy": copyKey,
  "#key-forget": forgetKey,
  "[data-operation]": openTrial,
  "[data-outcome]": tryOutcome,
  ".copy": copy,
};
document.addEventListener("click", ({ target }) => {
  const button = target.closest("button");
  const [, action] = Object.entries(ACTIONS).find(([mark]) => button?.matches(mark)) ?? [];
  if (action) void whileBusy(button, () => action(button));
});
