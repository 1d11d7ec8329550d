/*
 * The test key of the page. Its secret is only in the memory of this page: in a variable, and in the filled-in examples. It is
 * in no cookie, no storage and no address.
 *
 * Two requests send the cookie of the person, both after a click: the read of the session, and the creation of the key.
 * Trials send only the key, so nothing on this page can do more than a capped test key. The key revokes itself, which also
 * works after the person has signed out.
 */
import { copyText, link } from "./dom.js";

const card = document.getElementById("your-key");
const part = (name) => document.getElementById(`key-${name}`);
const input = document.getElementById("key");
const status = part("status");
const SECRET = /^rta_test_[0-9A-Za-z]{16}_[0-9A-Za-z]{49}$/;

/** The secret, and the id if this page has created the key. */
let key = null;
let timer = 0;
/** The trial that needed a key. */
let trial = null;

/** The secret; null without a key. */
export const currentKey = () => key?.secret ?? null;

/** Goes to the card of the key, because a trial needs one. After a key is set, the page goes back to `place`. */
export const askForKey = (place) => {
  trial = place;
  say("A trial needs a test key.");
  card.scrollIntoView({ block: "nearest" });
  part("create").focus();
};

const say = (...words) => status.replaceChildren(...words);

/** Shows the state of the key, and puts the secret into the examples, or removes it. */
const show = () => {
  part("absent").hidden = key !== null;
  part("present").hidden = key === null;
  part("name").textContent = key ? key.secret.replace(/_[^_]*$/, "_****") : "";
  part("end").textContent = key?.end ?? "";
  part("forget").textContent = key?.id ? "Revoke it" : "Forget it";
  part("link").textContent = key ? "Test key in use" : "No test key";
  for (const place of document.querySelectorAll("var[data-filled]")) {
    place.dataset.variable ??= place.textContent;
    place.textContent = key ? place.dataset.filled.replace("KEY", key.secret) : place.dataset.variable;
  }
};

const use = (next) => {
  clearTimeout(timer);
  key = next;
  input.value = "";
  show();
};

const welcome = () => {
  say("The examples and the trials use the key.");
  const next = trial ?? part("copy");
  trial = null;
  next.scrollIntoView({ block: "nearest" });
  next.focus();
};

/** `keepalive`: the request is sent although the page is closing. */
const revoke = ({ secret, id }) =>
  fetch(`/api/v1/api-keys/${id}`, {
    method: "DELETE",
    headers: { authorization: `Bearer ${secret}` },
    credentials: "omit",
    keepalive: true,
  });

export const forgetKey = async () => {
  const { secret, id } = key;
  use(null);
  say("The page no longer has a key.");
  part("create").focus();
  if (id === null) return;
  const isRevoked = await revoke({ secret, id }).then(
    ({ ok }) => ok,
    () => false,
  );
  say(isRevoked ? "The key is revoked." : "The key could not be revoked. It ends by itself.");
};

const refuse = async (response) => {
  if (response.status === 401) {
    return say("You are not signed in. ", link("/dashboard", "Sign in to the dashboard"), ", and click again.");
  }
  const { title, detail } = await response.json().catch(() => ({ title: `Status ${response.status}`, detail: "" }));
  say(`${title}. ${detail}`);
};

const create = async () => {
  const { origin, minutes, request } = card.dataset;
  if (location.origin !== origin) {
    return say(
      "People are signed in at another address of this service. Open ",
      link(`${origin}/docs`, `${origin}/docs`),
    );
  }
  // The clock of the service is used, because the clock of this device can be wrong.
  const headers = { "realtime-avatar-environment": "test" };
  const session = await fetch("/api/v1/user-sessions/current", { headers });
  if (!session.ok) return refuse(session);
  const { user, tenant } = await session.json();
  if (user.role === "viewer")
    return say("Your role is viewer, which cannot create keys. Ask a developer or an owner for one.");
  const lifetimeMs = Number(minutes) * 60_000;
  const now = Date.parse(session.headers.get("date") ?? "") || Date.now();
  const created = await fetch("/api/v1/api-keys", {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify({ ...JSON.parse(request), expiresAt: new Date(now + lifetimeMs).toISOString() }),
  });
  if (created.status !== 201) return refuse(created);
  const { id, apiKey } = await created.json();
  const end = new Date(Date.now() + lifetimeMs).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  use({ secret: apiKey, id, end: `of ${tenant.name}, until ${end}` });
  welcome();
  timer = setTimeout(() => {
    use(null);
    say("The test key has expired.");
  }, lifetimeMs);
};

/** Creates a key, and shows an error if that fails. */
export const createKey = () => create().catch(() => say("The service did not respond. Try again."));

export const copyKey = async () =>
  say((await copyText(key.secret)) ? "The key is copied." : "The browser does not allow this page to copy.");

input.addEventListener("input", () => {
  const secret = input.value.trim();
  if (SECRET.test(secret)) {
    use({ secret, id: null, end: "entered here" });
    welcome();
  } else if (secret !== "") {
    say(
      secret.startsWith("rta_live_")
        ? "This is a live key, which does not belong in a page. Enter a test key."
        : "Must be a whole test key: rta_test_…",
    );
  }
});

// Also when the browser keeps the page for the back button. It comes back without a key.
addEventListener("pagehide", () => {
  if (key === null) return;
  if (key.id !== null) void revoke(key);
  use(null);
  say();
});
