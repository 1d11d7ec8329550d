/** The address, the key and the model of a server with OpenAI's API, from variables. */
import { Secret } from "@realtime-avatar/storage/secret";
import { readVariable, type Variables } from "../config.ts";

/** An address with this value disables the provider, whatever else is set. */
export const OFF = "off";

/** The base of the API, without a slash at its end; `OFF`; null when it is not set. */
export const readProviderUrl = (variables: Variables, name: string): string | null =>
  readVariable<string | null>(
    variables,
    name,
    null,
    `an http:// or https:// URL without credentials or query, such as https://api.openai.com/v1, or ${OFF}`,
    (text) => {
      if (text === OFF) return text;
      const isUrl = /^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/.test(text) && URL.canParse(text);
      return isUrl ? text.replace(/\/+$/, "") : undefined;
    },
  );

/** 1 to 512 characters that a header can have. */
export const readProviderKey = (variables: Variables, name: string): Secret | null =>
  readVariable<Secret | null>(variables, name, null, "1 to 512 visible ASCII characters", (text) =>
    /^[\x21-\x7e]{1,512}$/.test(text) ? new Secret(text) : undefined,
  );

export const readProviderModel = (variables: Variables, name: string): string | null =>
  readVariable<string | null>(variables, name, null, "1 to 160 visible ASCII characters", (text) =>
    /^[\x21-\x7e]{1,160}$/.test(text) ? text : undefined,
  );
