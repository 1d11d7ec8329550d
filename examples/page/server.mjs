// A backend that starts calls with an avatar for its page. See README.md.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";

const { API_KEY, AVATAR_ID, BASE_URL = "http://127.0.0.1:3000/api/v1", PAGE_PORT = "8080" } = process.env;
if (!BASE_URL.endsWith("/api/v1")) throw new Error("BASE_URL must end in /api/v1");

/** Sends a request to the service. The key stays here: the page never sees it. */
const send = async (path, body) => {
  const headers = { authorization: `Bearer ${API_KEY}`, "content-type": "application/json" };
  const response = await fetch(BASE_URL + path, { method: "POST", headers, body: JSON.stringify(body) });
  return { status: response.status, body: await response.json() };
};

/** Starts a call. While all slots are in use, the service says when to ask again, and without a `code`. */
const startCall = async () => {
  for (;;) {
    const { status, body } = await send("/realtime/livekit/session", { avatar_id: AVATAR_ID });
    if (status !== 429 || body.code) return { status, body };
    await new Promise((resolve) => setTimeout(resolve, body.recommended_retry_ms));
  }
};

const server = createServer(async (request, response) => {
  const { method, url } = request;
  if (method === "GET") return response.setHeader("content-type", "text/html").end(await readFile("call.html"));
  const release = () => send("/realtime/livekit/session/release", { session_id: url.slice(1), reason: "manual" });
  // A page that was loaded again comes back to its call.
  const session_id = await text(request);
  const join = () => (session_id ? send("/realtime/livekit/session/resume", { session_id }) : startCall());
  const { status, body } = await (url === "/call" ? join() : release());
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
});
server.listen(Number(PAGE_PORT), "127.0.0.1", () => console.log(`Open http://localhost:${server.address().port}`));
