/** Keeps the log of LiveKit's library out of this process. */
import { FfiEvent, livekitInitialize } from "@livekit/rtc-ffi-bindings";
import { AudioResampler } from "@livekit/rtc-node";

/** As the library tells it to servers. */
const LIBRARY_VERSION = "1.1.0";
const RATE = 48_000;

/** What the library has created, for all of the process. */
type Client = { emit(name: "ffi_event", event: FfiEvent): boolean };

/**
 * The library sends its log to this process, down to the lowest level: several lines for each message of a server. It has no
 * setting for that, and the lines are read before anything else is done, so one server that sends without end would stop all calls
 * of the worker, and take memory without end. This starts the library again, without its log. What it still writes to standard
 * error are failures, unless RUST_LOG is `off`: only the environment with which a process is started counts.
 */
export const dropLibraryLog = (): void => {
  // The first use of the library creates its client.
  new AudioResampler(RATE, RATE).close();
  const client = (globalThis as { _ffiClientInstance?: Client })._ffiClientInstance;
  if (!client) throw new Error("the library of LiveKit has no client");
  livekitInitialize((event) => client.emit("ffi_event", FfiEvent.fromBinary(event)), false, LIBRARY_VERSION);
};
