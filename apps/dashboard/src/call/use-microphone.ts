/** The state of the microphone for the page. */
import type { Room } from "livekit-client";
import { type RefObject, useRef, useState } from "react";
import { type Microphone, microphoneFault, openMicrophone, publishMicrophone } from "./microphone.ts";

/** `isOn`: the avatar hears the person. `fault`: why the avatar cannot hear the person. */
export type MicrophoneView = Microphone & { isOn: boolean };

const NO_MICROPHONE: MicrophoneView = { track: null, fault: "", isOn: false };

/** The microphone of the page, from its permission to the end of the call. */
export const useMicrophone = (room: RefObject<Room | null>) => {
  const [view, setView] = useState<MicrophoneView>(NO_MICROPHONE);
  const track = useRef<Microphone["track"]>(null);
  const open = async (): Promise<Microphone> => {
    track.current?.stop();
    const opened = await openMicrophone();
    track.current = opened.track;
    setView({ ...opened, isOn: opened.track !== null });
    return opened;
  };
  const close = (): void => {
    track.current?.stop();
    track.current = null;
    setView(NO_MICROPHONE);
  };
  /** In a call: mutes or unmutes the microphone. A microphone that failed before is tried again. */
  const turn = async (isOn: boolean): Promise<void> => {
    try {
      if (track.current === null && isOn) {
        const opened = await open();
        if (opened.track && room.current) await publishMicrophone(room.current, opened.track);
        return;
      }
      await room.current?.localParticipant.setMicrophoneEnabled(isOn);
      setView((present) => ({ ...present, isOn }));
    } catch (error) {
      setView({ track: null, fault: microphoneFault(error), isOn: false });
    }
  };
  return { view, track, open, close, turn };
};
