/* The common functions of the scripts of the reference. Texts are set as text, never as HTML. */

/** A new element. */
export const element = (name, properties = {}, ...children) => {
  const created = Object.assign(document.createElement(name), properties);
  created.append(...children);
  return created;
};

/** A link that opens in a new tab, so that the key of this page stays. */
export const link = (href, text) => element("a", { href, target: "_blank", rel: "noreferrer" }, text);

/** JSON with indents; any other text as it is. */
export const pretty = (text) => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
};

/** Copies a text. Returns whether it was copied: browsers allow it only over https and on localhost. */
export const copyText = async (text) => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
};

/** Runs the action of a button, and ignores further clicks meanwhile. */
export const whileBusy = async (button, action) => {
  if (button.getAttribute("aria-busy") === "true") return;
  button.setAttribute("aria-busy", "true");
  try {
    await action();
  } finally {
    button.removeAttribute("aria-busy");
  }
};
