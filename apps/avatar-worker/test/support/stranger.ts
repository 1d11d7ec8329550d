/** Somebody with a token who joins without the libraries of LiveKit: the signal connection alone, which is enough to be in a room. */

const TOKEN = /eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+/;

export type Stranger = {
  /** The latest token: LiveKit sends a participant a new one. */
  token(): string;
  /** Whether the server or `leave` has closed the connection. */
  isGone(): boolean;
  leave(): void;
};

const addressOf = (url: string, path: string, token: string): string =>
  `${url}${path}?access_token=${token}&protocol=15&auto_subscribe=1`;

/** Whether the server would let the holder of the token join: its status. */
export const validate = async (url: string, token: string): Promise<number> =>
  (await fetch(addressOf(url.replace(/^ws/, "http"), "/rtc/validate", token))).status;

/** Joins the room of a token. Null when the server refuses. */
export const joinAsStranger = (url: string, token: string): Promise<Stranger | null> =>
  new Promise((resolve) => {
    const socket = new WebSocket(addressOf(url, "/rtc", token));
    socket.binaryType = "arraybuffer";
    let latest = token;
    let isGone = false;
    socket.addEventListener("message", ({ data }) => {
      const [found] = TOKEN.exec(Buffer.from(data as ArrayBuffer).toString("latin1")) ?? [];
      latest = found ?? latest;
      resolve({ token: () => latest, isGone: () => isGone, leave: () => socket.close() });
    });
    for (const event of ["close", "error"] as const) {
      socket.addEventListener(event, () => {
        isGone = true;
        resolve(null);
      });
    }
  });
