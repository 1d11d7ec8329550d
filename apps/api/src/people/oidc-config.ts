/** The OpenID Connect provider for sign-in. */
import { readVariable, refuse, type Variables } from "@realtime-avatar/runtime/config";
import { Secret } from "@realtime-avatar/storage/secret";

export type OidcConfig = {
  /** The issuer, exactly as the provider writes it, because identities are stored with it. */
  issuer: string;
  clientId: string;
  clientSecret: Secret;
  /** The name of the provider for people. */
  name: string;
};

const MAX_ISSUER = 512;
const MAX_NAME = 64;
const ISSUER_FORM = `an https:// URL (http:// only for localhost) of at most ${MAX_ISSUER} characters, without query and fragment`;

/** OpenID Connect Core §3.1.2.1 requires TLS. Over http, an attacker in the network could sign in as any person. */
const isIssuer = (text: string): boolean => {
  if (text.length > MAX_ISSUER || !/^https?:\/\/[^\s?#@]+$/.test(text) || !URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === "https:" || hostname === "localhost";
};

/** A client id, secret or name: printable, so that it fits into a header and on a button. */
const readText = (variables: Variables, name: string, maxLength: number): string | null =>
  readVariable<string | null>(variables, name, null, `text of at most ${maxLength} characters`, (text) =>
    text.length <= maxLength && text.trim() === text && !/\p{C}/u.test(text) ? text : undefined,
  );

/** `OIDC_ISSUER` and its related variables; null if none is set. An incomplete set is an error. */
export const readOidcConfig = (variables: Variables): OidcConfig | null => {
  const issuer = readVariable<string | null>(variables, "OIDC_ISSUER", null, ISSUER_FORM, (text) =>
    isIssuer(text) ? text : undefined,
  );
  const clientId = readText(variables, "OIDC_CLIENT_ID", 255);
  const clientSecret = readText(variables, "OIDC_CLIENT_SECRET", 1024);
  const name = readText(variables, "OIDC_NAME", MAX_NAME);
  const required = { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret };
  const [present] = Object.entries({ ...required, OIDC_NAME: name }).find(([, value]) => value !== null) ?? [];
  if (present === undefined) return null;
  for (const name of Object.keys(required)) {
    if (!variables[name]) refuse(variables, name, `set when ${present} is set`);
  }
  // Within `readVariables`, an invalid variable is null as well.
  if (issuer === null || clientId === null || clientSecret === null) return null;
  const shown = name ?? new URL(issuer).host.slice(0, MAX_NAME);
  return { issuer, clientId, clientSecret: new Secret(clientSecret), name: shown };
};
