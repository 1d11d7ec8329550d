/**
 * A client that joins with a token and without the libraries of LiveKit. It has only the signal connection, which is
 * enough to be in a room.
 */

const TOKEN = /eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+/;

export type RawClient = {
  /** The latest token: LiveKit sends a participant a new one. */
  token(): string;
  /** Whether a message of the server has named this participant or track. */
  hasMet(identity: string): boolean;
  /** Whether the server or `leave` has closed the connection. */
  isGone(): boolean;
  /** Asks the server for its own track with this name. */
  publish(source: "camera" | "microphone", name: string): void;
  setMetadata(metadata: string): void;
  leave(): void;
};

/** Messages of LiveKit's protocol (`SignalRequest`), in the encoding of Protocol Buffers. */
const field = (number: number, value: string | number[]): number[] => {
  const bytes = [...Buffer.from(value as string)];
  return [(number << 3) | 2, bytes.length, ...bytes];
};
const numberField = (number: number, value: number): number[] => [number << 3, value];
const addTrack = (source: "camera" | "microphone", name: string): number[] => {
  const [type, from] = source === "camera" ? [1, 1] : [0, 2];
  return field(4, [...field(1, name), ...field(2, name), ...numberField(3, type), ...numberField(8, from)]);
};
const updateMetadata = (metadata: string): number[] => field(15, field(1, metadata));

const addressOf = (url: string, path: string, token: string): string =>
  `${url}${path}?access_token=${token}&protocol=15&auto_subscribe=1`;

/** The status of the server's check whether the token may join. */
export const validate = async (url: string, token: string): Promise<number> =>
  (await fetch(addressOf(url.replace(/^ws/, "http"), "/rtc/validate", token))).status;

/** Calls the API of the server with a token. Returns the status. */
export const askLivekit = async (url: string, token: string, method: string, body: object): Promise<number> => {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const init = { method: "POST", headers, body: JSON.stringify(body) };
  return (await fetch(`${url.replace(/^ws/, "http")}/twirp/livekit.${method}`, init)).status;
};

/** The token with changed claims and its old signature. */
export const tampered = (token: string, claims: object): string => {
  const [header, payload = "", signature] = token.split(".");
  const changed = { ...JSON.parse(Buffer.from(payload, "base64url").toString()), ...claims };
  return [header, Buffer.from(JSON.stringify(changed)).toString("base64url"), signature].join(".");
};

/** The claims of a token. Its signature is not verified. */
export const readClaims = (token: string) => {
  const claims = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
  return claims as { exp: number; nbf: number; video: Record<string, unknown> };
};

/** Joins the room of a token. null when the server refuses. */
export const joinAsRawClient = (url: string, token: string): Promise<RawClient | null> =>
  new Promise((resolve) => {
    const socket = new WebSocket(addressOf(url, "/rtc", token));
    socket.binaryType = "arraybuffer";
    let latest = token;
    let heard = "";
    let isGone = false;
    socket.addEventListener("message", ({ data }) => {
      const text = Buffer.from(data as ArrayBuffer).toString("latin1");
      heard += text;
      latest = TOKEN.exec(text)?.[0] ?? latest;
      const hasMet = (identity: string): boolean => heard.includes(identity);
      resolve({
        token: () => latest,
        hasMet,
        isGone: () => isGone,
        publish: (source, name) => socket.send(Uint8Array.from(addTrack(source, name))),
        setMetadata: (metadata) => socket.send(Uint8Array.from(updateMetadata(metadata))),
        leave: () => socket.close(),
      });
    });
    for (const event of ["close", "error"] as const) {
      socket.addEventListener(event, () => {
        isGone = true;
        resolve(null);
      });
    }
  });
