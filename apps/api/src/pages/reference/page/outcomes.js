/* The trial of a test asset: creates an avatar with it, and reads the avatar until it is prepared. */
import { element } from "./dom.js";
import { askForKey, currentKey } from "./key.js";
import { send } from "./trial.js";

const PAUSE_MS = 400;
const WAIT_MS = 30_000;

const pause = () => new Promise((resolve) => setTimeout(resolve, PAUSE_MS));

/** The body of a response. Throws the text of a problem. */
const read = async (response) => {
  const body = await response.json();
  if (!response.ok) throw new Error(`${body.title}. ${body.detail}`);
  return body;
};

const prepared = async (sourceAssetId) => {
  const body = JSON.stringify({ displayName: `Trial of ${sourceAssetId}`, sourceKind: "image", sourceAssetId });
  const headers = { "content-type": "application/json" };
  let avatar = await read(await send("POST", "/api/v1/avatars", { headers, body }));
  const end = performance.now() + WAIT_MS;
  while (avatar.status === "preprocessing" && performance.now() < end) {
    await pause();
    avatar = await read(await send("GET", `/api/v1/avatars/${avatar.id}`));
  }
  return avatar;
};

const TONES = { ready: "good", failed: "bad" };

const verdicts = ({ checks }) =>
  element(
    "ul",
    {},
    ...checks
      .filter(({ verdict }) => verdict !== "pass")
      .map(({ code, verdict, detail }) => element("li", {}, element("code", {}, code), ` ${verdict}: ${detail}`)),
  );

const deleteButton = (avatar, output) => {
  const button = element("button", { type: "button", className: "plain" }, "Delete the avatar");
  button.addEventListener("click", async () => {
    if (currentKey() === null) return askForKey(button);
    const { ok } = await send("DELETE", `/api/v1/avatars/${avatar.id}`);
    output.replaceChildren(ok ? "The avatar is deleted." : "The avatar could not be deleted.");
  });
  return button;
};

/** Why the avatar is not ready, if no check has failed. */
const reasonOf = ({ status, error, checks }) => {
  if (status === "preprocessing") return "No worker has prepared it within 30 seconds.";
  return checks.some(({ verdict }) => verdict === "fail") ? "" : (error ?? "");
};

const show = (avatar, output) =>
  output.replaceChildren(
    element("span", { className: `badge ${TONES[avatar.status] ?? "warn"}` }, avatar.status),
    ` ${reasonOf(avatar)} `,
    element("code", {}, avatar.id),
    " ",
    deleteButton(avatar, output),
    verdicts(avatar),
  );

/** Tries the test asset of a button. The result is shown after the button. */
export const tryOutcome = async (button) => {
  if (currentKey() === null) return askForKey(button);
  const row = button.parentElement;
  let output = row.querySelector(".output");
  if (output === null) {
    output = element("div", { className: "output" });
    output.setAttribute("role", "status");
    row.append(output);
  }
  output.replaceChildren("Preparing …");
  await prepared(button.dataset.outcome).then(
    (avatar) => show(avatar, output),
    (error) => output.replaceChildren(error.message),
  );
};
