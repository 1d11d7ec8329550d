/** Downloads a list as a CSV file. A list with more rows than fit into a file is read in parts, one for each click. */
import type { CsvFile } from "@realtime-avatar/client";
import { useEffect, useRef, useState } from "react";
import { useNotify } from "../layout/notices.tsx";
import { useAction } from "../layout/use-action.ts";
import { Button } from "./button.tsx";
import { Failure } from "./state.tsx";

/** After this time, the browser has certainly begun to save the file. */
const KEPT_MS = 60_000;

/**
 * Saves a file of at most 64 MiB. A byte order mark tells spreadsheets that it is UTF-8. Programs use the API, which
 * adds no mark.
 */
const save = ({ data, response }: CsvFile): void => {
  const url = URL.createObjectURL(new Blob(["\ufeff", data], { type: "text/csv" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = /filename="([^"]+)"/.exec(response.headers.get("content-disposition") ?? "")?.[1] ?? "export.csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
};

type Props = { read: (page: { cursor?: string }, options: { signal: AbortSignal }) => Promise<CsvFile> };

/**
 * `read`: reads the file from a cursor. A cursor is valid only with its filters, so the button needs a `key` that changes
 * with the filters.
 */
export const ExportButton = ({ read }: Props) => {
  const notify = useNotify();
  const [cursor, setCursor] = useState<string | null>(null);
  const controller = useRef<AbortController | null>(null);
  // Leaving the page cancels the file.
  useEffect(() => () => controller.current?.abort(), []);
  const action = useAction(
    () => {
      controller.current = new AbortController();
      return read(cursor === null ? {} : { cursor }, { signal: controller.current.signal });
    },
    [],
    (file) => {
      save(file);
      setCursor(file.nextCursor);
      notify(
        file.nextCursor === null
          ? "The file is downloaded."
          : "The file is downloaded. More rows follow, as its last row says: export the next part.",
      );
    },
  );
  return (
    <>
      <Button isBusy={action.isBusy} onClick={() => action.run()}>
        {cursor === null ? "Export CSV" : "Export the next part"}
      </Button>
      {action.error ? (
        <div className="basis-full">
          <Failure error={action.error} />
        </div>
      ) : null}
    </>
  );
};
