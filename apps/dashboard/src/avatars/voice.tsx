/** The voice of an avatar: shown, heard, and changed by those who may. */
import type { Avatar } from "@realtime-avatar/client";
import { Failure } from "../components/state.tsx";
import { useAccount, useHasRole } from "../layout/context.tsx";
import { useAction } from "../layout/use-action.ts";
import { useVoices } from "../voices/data.ts";
import { VoiceSelect } from "../voices/voice-select.tsx";

export const AvatarVoice = ({ avatar }: { avatar: Avatar }) => {
  const { client } = useAccount();
  const canChange = useHasRole("developer") && avatar.status !== "deleted";
  const voices = useVoices();
  const change = useAction(
    (defaultVoiceId: string | null) =>
      client.PATCH("/api/v1/avatars/{id}", { params: { path: { id: avatar.id } }, body: { defaultVoiceId } }),
    ["avatars", "audit"],
  );
  if (voices === undefined) return avatar.defaultVoiceId ?? "the default one";
  return (
    <>
      <VoiceSelect
        voices={voices}
        value={avatar.defaultVoiceId}
        onChange={canChange ? change.run : null}
        isBusy={change.isBusy}
      />
      {change.error ? <Failure error={change.error} /> : null}
    </>
  );
};
