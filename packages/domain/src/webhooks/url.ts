/**
 * The form of the URL of a webhook endpoint, for the API and the sender. The sender resolves the name and checks
 * its addresses. A URL that no resolution can make acceptable is refused here at once.
 */
import { publicUrlFault } from "../assets/remote-url.ts";
import type { FieldError } from "../problem.ts";

/**
 * The names of this machine in the form of the URL parser, which converts each spelling of 127.0.0.1 and ::1 to this
 * form.
 */
const LOCAL_HOSTS = ["localhost", "127.0.0.1", "[::1]"];
/** ASCII without spaces, like the URL of a public host. */
const LOCAL_FORM = /^http:\/\/[!-~]+$/;

const LOCAL_URL = /^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])([:/]|$)/i;
const ON_THIS_MACHINE =
  "Must have a public host name. `bun run webhooks listen` forwards events to a program on your machine.";

/** Whether `text` is an http URL of this machine, on any port, without credentials: `WEBHOOK_ALLOW_HTTP_LOCALHOST` allows it. */
export const isHttpLocalhost = (text: string): boolean => {
  const url = LOCAL_FORM.test(text) && URL.canParse(text) ? new URL(text) : null;
  return url !== null && url.username === "" && url.password === "" && LOCAL_HOSTS.includes(url.hostname);
};

/**
 * The errors of `url`, a valid text; an empty list when the sender may try to send to it. `allowHttpLocalhost`: for
 * development.
 */
export const webhookUrlErrors = (url: string, allowHttpLocalhost: boolean): FieldError[] => {
  if (allowHttpLocalhost && isHttpLocalhost(url)) return [];
  const detail = LOCAL_URL.test(url) ? ON_THIS_MACHINE : publicUrlFault(url);
  return detail === null ? [] : [{ pointer: "#/url", code: "unsupported_url", detail }];
};
