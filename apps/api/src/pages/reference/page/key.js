/*
 * The test key of the page. Its secret is in the memory of this page: in a variable, and in the examples that have it put in.
 * It is in no cookie, no storage and no address.
 *
 * The cookie of the person goes along with two requests, both after a click: who is signed in, and the creation of the key.
 * Trials carry the key alone, so nothing on this page can do more than a capped test key can. The key revokes itself: that
 * works also after the person has signed out.
 */
import { copyText, link } from "./dom.js";

const card = document.getElementById("your-key");
const part = (name) => document.getElementById(`key-${name}`);
const input = document.getElementById("key");
const status = part("status");
const SECRET = /^rta_test_[0-9A-Za-z]{16}_[0-9A-Za-z]{49}$/;

/** The secret, and the id of a key that this page has created. */
let key = null;
let timer = 0;
/** The trial that needed a key. */
let trial = null;

/** The secret; null without a key. */
export const currentKey = () => key?.secret ?? null;

/** Leads to the card of the key, because a trial needs one. With a key, the page leads back to `place`. */
export const askForKey = (place) => {
  trial = place;
  say("A trial needs a test key.");
  card.scrollIntoView({ block: "nearest" });
  part("create").focus();
};

const say = (...words) => status.replaceChildren(...words);

/** Shows what the page has, and puts the secret into the examples, or takes it out. */
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
  say("The examples and the trials have the key.");
  const next = trial ?? part("copy");
  trial = null;
  next.scrollIntoView({ block: "nearest" });
  next.focus();
};

/** `keepalive`: the request goes out although the page is being closed. */
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
  say("The page has no key any more.");
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
  // The clock of the service: that of this device can be wrong.
  const headers = { "realtime-avatar-environment": "test" };
  const session = await fetch("/api/v1/user-sessions/current", { headers });
  if (!session.ok) return refuse(session);
  const { user, tenant } = await session.json();
  if (user.role === "viewer")
    return say("Your role is viewer, which creates no keys. Ask a developer or an owner for one.");
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

/** Creates a key, and says why it could not. */
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
        ? "This is a live key. A page is no place for it: enter a test key."
        : "Must be a whole test key: rta_test_…",
    );
  }
});

// Also when the page is kept for the way back: it comes back without a key.
addEventListener("pagehide", () => {
  if (key === null) return;
  if (key.id !== null) void revoke(key);
  use(null);
  say();
});
