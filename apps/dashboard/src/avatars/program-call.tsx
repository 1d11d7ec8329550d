import { CopyText } from "../components/copy.tsx";
import { callLines } from "./call-line.ts";

/** Shows how a program starts a call with the avatar. `keyText`: the key whose secret is in API_KEY. */
export const ProgramCall = ({ avatarId, keyText }: { avatarId: string; keyText: string }) => (
  <details>
    <summary className="mb-2">As a program: start a call, and end it</summary>
    <CopyText label={`API_KEY is the secret of ${keyText}.`} text={callLines(avatarId)} />
  </details>
);
