/** The voice of an avatar: shown, played, and changed by people with the right to. */
import type { Avatar } from "@realtime-avatar/client";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Failure } from "../components/state.tsx";
import { useAccount, useHasRole } from "../layout/context.tsx";
import { useAction } from "../layout/use-action.ts";
import { useVoices } from "../voices/data.ts";
import { VoiceSelect } from "../voices/voice-select.tsx";

export const AvatarVoice = ({ avatar }: { avatar: Avatar }) => {
  const { client, environment } = useAccount();
  const queries = useQueryClient();
  const [chosen, setChosen] = useState(avatar.defaultVoiceId);
  const canChange = useHasRole("developer") && avatar.status !== "deleted";
  const voices = useVoices();
  const change = useAction(
    (defaultVoiceId: string | null) =>
      client.PATCH("/api/v1/avatars/{id}", { params: { path: { id: avatar.id } }, body: { defaultVoiceId } }),
    ["avatars", "audit"],
    // The next sample uses the new voice, even if the avatar is read again late.
    ({ data }) => queries.setQueryData(["avatars", environment, avatar.id], data),
  );
  const choose = (id: string | null): void => {
    setChosen(id);
    void change.run(id);
  };
  if (voices === undefined) return avatar.defaultVoiceId ?? "the default one";
  return (
    <>
      <VoiceSelect
        voices={voices}
        value={change.isBusy ? chosen : avatar.defaultVoiceId}
        onChange={canChange ? choose : null}
        isBusy={change.isBusy}
      />
      {change.error ? <Failure error={change.error} /> : null}
    </>
  );
};
