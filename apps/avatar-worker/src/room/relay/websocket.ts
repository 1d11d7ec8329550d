/**
 * Parses the messages of a WebSocket server from the bytes of its connection (RFC 6455, section 5). The package `ws` is
 * not used, because Bun replaces its implementation.
 */

const OPCODES = { continuation: 0, binary: 2, close: 8, ping: 9, pong: 10 } as const;
type Opcode = (typeof OPCODES)[keyof typeof OPCODES];
const MAX_CONTROL_BYTES = 125;
/** The longest header of an unmasked frame. */
const MAX_HEADER_BYTES = 10;

export type Message = { kind: "binary" | "close" | "ping" | "pong"; payload: Buffer };
type Header = { opcode: Opcode; isFinal: boolean; headerBytes: number; payloadBytes: number };

/**
 * The header of a frame; null until it is complete. Throws for frames that a server must not send, or that are too
 * long.
 */
const readHeader = (bytes: Buffer, maxBytes: number): Header | null => {
  const [first, second] = bytes;
  if (first === undefined || second === undefined) return null;
  const opcode = Object.values(OPCODES).find((known) => known === (first & 0x0f));
  // The connection has no extensions, so the reserved bits must be 0. LiveKit sends no text messages.
  if (opcode === undefined || first & 0x70 || second & 0x80) throw new Error("an invalid frame");
  const lengthBytes = second < 126 ? 0 : second === 126 ? 2 : 8;
  if (bytes.length < 2 + lengthBytes) return null;
  const payloadBytes =
    lengthBytes === 0 ? second : lengthBytes === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  const isFinal = (first & 0x80) !== 0;
  const isControl = opcode >= OPCODES.close;
  if (isControl && (!isFinal || payloadBytes > MAX_CONTROL_BYTES)) throw new Error("an invalid control frame");
  if (payloadBytes > maxBytes) throw new Error("a frame that is too long");
  return { opcode, isFinal, headerBytes: 2 + lengthBytes, payloadBytes };
};

/**
 * A buffer of bytes that come in pieces. The pieces are joined once, so that many small ones cost no more than a large
 * one.
 */
const createBuffer = () => {
  let pieces: Buffer[] = [];
  let size = 0;
  const take = (bytes: number): Buffer => {
    const [first = Buffer.alloc(0), ...others] = pieces;
    const all = others.length === 0 ? first : Buffer.concat(pieces);
    pieces = [all.subarray(bytes)];
    size -= bytes;
    return all.subarray(0, bytes);
  };
  /** The first `bytes`, or fewer. */
  const peek = (bytes: number): Buffer => {
    let count = 0;
    let length = 0;
    while (length < bytes && count < pieces.length) length += pieces[count++]?.length ?? 0;
    if (count > 1) pieces.splice(0, count, Buffer.concat(pieces.slice(0, count)));
    return pieces[0]?.subarray(0, bytes) ?? Buffer.alloc(0);
  };
  const push = (piece: Buffer): void => {
    pieces.push(piece);
    size += piece.length;
  };
  return { size: () => size, push, peek, take };
};

/**
 * Returns a function that takes each piece of a server's data and returns the completed messages. It throws when the
 * server breaks the protocol or sends a message of more than `maxBytes`.
 */
export const createMessageReader = (maxBytes: number): ((piece: Buffer) => Message[]) => {
  const buffer = createBuffer();
  let header: Header | null = null;
  let fragments: Buffer[] | null = null;
  let fragmentBytes = 0;

  const complete = ({ opcode, isFinal }: Header, payload: Buffer): Message | null => {
    if (opcode === OPCODES.close) return { kind: "close", payload };
    if (opcode === OPCODES.ping) return { kind: "ping", payload };
    if (opcode === OPCODES.pong) return { kind: "pong", payload };
    if ((opcode === OPCODES.continuation) !== (fragments !== null)) throw new Error("an invalid fragment");
    fragments = [...(fragments ?? []), payload];
    fragmentBytes += payload.length;
    if (fragmentBytes > maxBytes || fragments.length > MAX_FRAGMENTS) throw new Error("a message that is too long");
    if (!isFinal) return null;
    const message = Buffer.concat(fragments);
    fragments = null;
    fragmentBytes = 0;
    return { kind: "binary", payload: message };
  };

  return (piece) => {
    buffer.push(piece);
    const messages: Message[] = [];
    for (;;) {
      header ??= readHeader(buffer.peek(MAX_HEADER_BYTES), maxBytes);
      if (header === null || buffer.size() < header.headerBytes + header.payloadBytes) return messages;
      const frame = buffer.take(header.headerBytes + header.payloadBytes);
      const message = complete(header, frame.subarray(header.headerBytes));
      header = null;
      if (message) messages.push(message);
    }
  };
};

/** More fragments than a server needs: LiveKit sends each message in one frame. */
const MAX_FRAGMENTS = 1000;

/** A server's frame with a message. */
export const encodeFrame = ({ kind, payload }: { kind: Message["kind"]; payload: Uint8Array }): Buffer => {
  const { length } = payload;
  const header = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  header[0] = 0x80 | OPCODES[kind];
  header[1] = length < 126 ? length : length < 65_536 ? 126 : 127;
  if (header.length === 4) header.writeUInt16BE(length, 2);
  if (header.length === 10) header.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([header, payload]);
};
