/** The chosen file of a person as a source: its checks and its upload. */
import type { Asset, components } from "@realtime-avatar/client";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { uploadAsset } from "../api/upload.ts";
import { useAccount } from "../layout/context.tsx";
import { measureSource } from "./measure.ts";
import {
  checkSource,
  KIND_NAMES,
  type Requirements,
  type Source,
  type SourceCheck,
  type SourceKind,
} from "./source.ts";

type Model = components["schemas"]["Model"];

/** The model's requirements of sources; a model that is not listed has the requirements of the default. */
export const useRequirements = (modelId?: string, isEnabled = true): Requirements | undefined => {
  const { client } = useAccount();
  const { data } = useQuery({
    queryKey: ["models"],
    queryFn: async (): Promise<Model[]> => (await client.GET("/api/v1/models")).data.data,
    staleTime: 600_000,
    enabled: isEnabled,
  });
  return (data?.find(({ id }) => id === modelId) ?? data?.find(({ isDefault }) => isDefault))?.requirements;
};

/** A chosen file. `source` is null until it is measured. */
export type Chosen = { file: File; source: Source | null };

/**
 * The chosen file after `file` was measured. A large file can take longer than a small file that was chosen after it.
 */
export const withMeasure = (present: Chosen | null, file: File, source: Source): Chosen | null =>
  present?.file === file ? { file, source } : present;

export type ChosenSource = {
  chosen: Chosen | null;
  /** The checks of the file; null until it is measured. */
  checks: SourceCheck[] | null;
  /** The file if it can be uploaded; otherwise null. */
  usable: { file: File; kind: SourceKind } | null;
  choose: (file: File) => void;
  /** The model's requirements; undefined until they are known. */
  requirements: Requirements | undefined;
};

/** The source that is being chosen. It must be of one of these kinds. */
export const useSource = (kinds: readonly SourceKind[], modelId?: string): ChosenSource => {
  const requirements = useRequirements(modelId);
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const choose = async (file: File): Promise<void> => {
    // From here on, the earlier file no longer counts, even while this file is measured.
    setChosen({ file, source: null });
    const source = await measureSource(file);
    setChosen((present) => withMeasure(present, file, source));
  };
  const checks = chosen?.source ? checkSource(chosen.source, requirements, kinds) : null;
  const kind = chosen?.source?.type?.kind;
  const isUsable = kind !== undefined && (checks?.every(({ verdict }) => verdict !== "fail") ?? false);
  return { chosen, checks, usable: chosen && isUsable ? { file: chosen.file, kind } : null, choose, requirements };
};

/** The current step and its progress. */
export type Step = { text: string; share: number | null };

const POLL_MS = 500;
/** After half a minute, the page no longer waits for the source. The service does. */
const MAX_POLLS = 60;

const sleep = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });

/** Waits at most half a minute until the service has examined an asset. Throws the reason of a refusal. */
export const untilExamined = async (
  first: Asset,
  read: (id: string) => Promise<Asset>,
  signal: AbortSignal,
): Promise<void> => {
  let asset = first;
  for (let polls = 0; polls < MAX_POLLS && asset.status !== "ready"; polls++) {
    if (asset.status === "failed") throw new Error(asset.error?.detail ?? "The file was refused. Use another one.");
    await sleep(POLL_MS, signal);
    asset = await read(asset.id);
  }
};

/**
 * Returns the step of an upload, and a function that uploads a file and waits until the service has examined it. The
 * function throws the reason of a refusal. The upload stops when the component is removed, so that nothing happens
 * behind a closed dialog. A file is uploaded only once, even if later steps are repeated.
 */
export const useUpload = () => {
  const { client, environment } = useAccount();
  const [step, setStep] = useState<Step | null>(null);
  const uploaded = useRef<{ file: File; id: string }>(null);
  const controller = useRef<AbortController>(null);
  useEffect(() => () => controller.current?.abort(), []);

  const upload = async ({ file, kind }: { file: File; kind: SourceKind }): Promise<string> => {
    if (uploaded.current?.file === file) return uploaded.current.id;
    controller.current = new AbortController();
    const { signal } = controller.current;
    const name = KIND_NAMES[kind];
    const onProgress = (share: number): void =>
      setStep(
        share < 1
          ? { text: `Uploading the ${name}: ${Math.floor(share * 100)} %`, share }
          : { text: `Storing the ${name}`, share: null },
      );
    onProgress(0);
    const asset = await uploadAsset(environment, file, { kind, signal, onProgress });
    setStep({ text: `Checking the ${name}`, share: null });
    const read = async (id: string): Promise<Asset> =>
      (await client.GET("/api/v1/assets/{id}", { params: { path: { id } }, signal })).data;
    await untilExamined(asset, read, signal);
    uploaded.current = { file, id: asset.id };
    return asset.id;
  };
  return { step, setStep, upload };
};
