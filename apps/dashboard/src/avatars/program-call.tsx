import { CopyText } from "../components/copy.tsx";
import { callLines } from "./call-line.ts";

/** How a program starts a call with the avatar. `keyText`: whose secret API_KEY is. */
export const ProgramCall = ({ avatarId, keyText }: { avatarId: string; keyText: string }) => (
  <details>
    <summary className="mb-2">As a program: start a call, and end it</summary>
    <CopyText label={`API_KEY is the secret of ${keyText}.`} text={callLines(avatarId)} />
  </details>
);
