/** The advice about a failed import: the sentence after the description of the failure. */
import { type AssetKind, MAKE_SMALLER } from "@realtime-avatar/domain/assets/limits";
import type { Refused, Unavailable } from "../remote/outcome.ts";

const UPLOAD = "or upload the file instead.";
const OPEN_TO_ALL = `Use a URL at which everyone can get the file without signing in, ${UPLOAD}`;
const LATER = `Import it again later, ${UPLOAD}`;

/** The advice for outcomes that the same request would have again, by their code. */
const REFUSED: Record<Exclude<Refused["code"], "too_large">, string> = {
  invalid_url: `Correct the URL, ${UPLOAD}`,
  https_required: `Use a URL that begins with https://, ${UPLOAD}`,
  credentials_not_allowed: OPEN_TO_ALL,
  port_not_allowed: `Use a URL without a port, ${UPLOAD}`,
  ip_address_not_allowed: `Use a URL with a public host name, ${UPLOAD}`,
  host_not_public: `Use a URL that can be reached from the internet, ${UPLOAD}`,
  too_many_redirects: `Use the URL to which the last redirect leads, ${UPLOAD}`,
  certificate_not_valid: `Renew the certificate of the host, use a URL of another host, ${UPLOAD}`,
  invalid_response: `Use a URL of another host, ${UPLOAD}`,
  unexpected_status: OPEN_TO_ALL,
  encoding_not_allowed: `Let the host send the file without compression, ${UPLOAD}`,
  empty: `Check in a browser that the URL leads to the file, ${UPLOAD}`,
};

/** The advice for outcomes that can change later, by their code. */
const UNAVAILABLE: Record<Unavailable["code"], string> = {
  host_not_found: `Check the spelling of the host in the URL, ${UPLOAD}`,
  connection_failed: `Check that the URL opens in a browser, and import it again, ${UPLOAD}`,
  connection_lost: LATER,
  timed_out: `Use a URL of a faster host, ${UPLOAD}`,
  canceled: LATER,
  unexpected_status: LATER,
};

/** The advice about a file of this kind that could not be fetched. */
export const importAdvice = (outcome: Refused | Unavailable, kind: AssetKind): string => {
  if (outcome.kind === "unavailable") return UNAVAILABLE[outcome.code];
  return outcome.code === "too_large" ? MAKE_SMALLER[kind] : REFUSED[outcome.code];
};
