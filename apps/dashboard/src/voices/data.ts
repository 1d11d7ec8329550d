/** The voices of the service, and playing their samples. */
import type { components } from "@realtime-avatar/client";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useAccount } from "../layout/context.tsx";
import { type Action, useAction } from "../layout/use-action.ts";

export type Voice = components["schemas"]["Voice"];

/** All voices; undefined until they are loaded. */
export const useVoices = (): Voice[] | undefined => {
  const { client } = useAccount();
  const { data } = useQuery({
    queryKey: ["voices"],
    queryFn: async (): Promise<Voice[]> => (await client.GET("/api/v1/voices")).data.data,
    staleTime: 600_000,
  });
  return data;
};

/** The label of a voice: its name, and its language if it has one. */
export const voiceName = ({ name, language }: Voice): string => (language === null ? name : `${name}, ${language}`);

/** Plays the sample of a voice. Only one sample plays at a time. It stops when the person leaves. */
export const useSample = (): Action<[id: string]> => {
  const { client } = useAccount();
  const playing = useRef<{ audio: HTMLAudioElement; url: string } | null>(null);
  const stop = (): void => {
    playing.current?.audio.pause();
    if (playing.current) URL.revokeObjectURL(playing.current.url);
    playing.current = null;
  };
  useEffect(() => stop, []);
  return useAction(
    async (id: string) => (await client.GET("/api/v1/voices/{id}/sample", { params: { path: { id } } })).data,
    [],
    (sample) => {
      stop();
      const url = URL.createObjectURL(sample);
      const audio = new Audio(url);
      playing.current = { audio, url };
      // A browser can refuse to play sound that comes long after the click. The next click plays it.
      audio.play().catch(() => {});
    },
  );
};
