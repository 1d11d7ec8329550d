/** Keys and avatars whose names contain the text in the palette. */
import { MAX_DISPLAY_NAME_LENGTH, MAX_NAME_LENGTH } from "@realtime-avatar/domain/text";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { readUntilFound, searchQuery } from "../api/pages.ts";
import { useAccount } from "../layout/context.tsx";
import { type Entry, isObjectId } from "./entries.ts";

/** The pause in typing before a request to the service. */
const PAUSE_MS = 200;
/** Maximum number of each kind. The pages of the lists find more. */
const MAX_FOUND = 5;
/** A shorter text would match most names. */
const MIN_LENGTH = 2;

const usePaused = (text: string): string => {
  const [paused, setPaused] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setPaused(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return paused;
};

/** The found objects, whether the service is still searching for this text, and the error of a failed search. */
export const useFound = (typed: string): { found: Entry[]; isSearching: boolean; error: unknown } => {
  const { client, environment } = useAccount();
  const wanted = typed.trim();
  const text = usePaused(wanted);
  const isSearchable = [...wanted].length >= MIN_LENGTH && !isObjectId(wanted);
  const query = useQuery({
    queryKey: ["found", environment, text],
    queryFn: async ({ signal }): Promise<Entry[]> => {
      const filters = (maxLength: number) => ({ ...searchQuery({ filter: text }, maxLength), limit: MAX_FOUND });
      const after = (cursor: string | undefined) => (cursor === undefined ? {} : { cursor });
      const [keys, avatars] = await Promise.all([
        readUntilFound(
          async (cursor) => {
            const parameters = { ...filters(MAX_NAME_LENGTH), environment, ...after(cursor) };
            return (await client.GET("/api/v1/api-keys", { params: { query: parameters }, signal })).data;
          },
          undefined,
          signal,
        ),
        readUntilFound(
          async (cursor) => {
            const parameters = { ...filters(MAX_DISPLAY_NAME_LENGTH), ...after(cursor) };
            return (await client.GET("/api/v1/avatars", { params: { query: parameters }, signal })).data;
          },
          undefined,
          signal,
        ),
      ]);
      return [
        ...keys.data.map(({ id, name, status }): Entry => {
          const group = status === "active" ? "Key" : `Key, ${status}`;
          return { name, group, target: { kind: "page", to: "/keys", search: { key: id } } };
        }),
        ...avatars.data.map(({ id, displayName }): Entry => {
          return {
            name: displayName,
            group: "Avatar",
            target: { kind: "page", to: "/avatars", search: { avatar: id } },
          };
        }),
      ];
    },
    enabled: isSearchable && text === wanted,
  });
  return {
    found: isSearchable && text === wanted ? (query.data ?? []) : [],
    isSearching: isSearchable && (text !== wanted || query.isFetching),
    error: isSearchable ? query.error : null,
  };
};
