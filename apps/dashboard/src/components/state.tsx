/** The states of a page without data: loading, empty, or an error. */
import { type ReactNode, type RefObject, useEffect, useRef, useSyncExternalStore } from "react";
import { errorText } from "../api/client.ts";
import { type ListTotal, totalText } from "../format.ts";
import { Button } from "./button.tsx";
import { Prose } from "./prose.tsx";

/** Placeholder rows with the height of the rows in the list. */
export const Skeleton = ({ label, rows = 4, height = "h-14" }: { label: string; rows?: number; height?: string }) => (
  <div role="status" className="grid gap-2">
    <span className="sr-only">Loading {label}</span>
    {Array.from({ length: rows }, (_, row) => (
      <div key={row} aria-hidden="true" className={`shimmer ${height}`} />
    ))}
  </div>
);

export const Empty = ({ title, children, action }: { title: string; children: ReactNode; action?: ReactNode }) => (
  <div className="grid justify-items-center gap-3 rounded-2xl border border-dashed border-line px-6 py-12 text-center">
    <h2 className="text-lg font-semibold">{title}</h2>
    <p className="max-w-md text-muted">{children}</p>
    {action}
  </div>
);

/**
 * A reference for an element that is scrolled into view when it appears in a dialog, and when `content` changes: the
 * button can be at the end of a long form, and the element at its beginning.
 */
export const useInView = <Shown extends HTMLElement>(content?: unknown): RefObject<Shown | null> => {
  const ref = useRef<Shown>(null);
  useEffect(() => {
    if (ref.current?.closest("dialog")) ref.current.scrollIntoView({ block: "nearest" });
  }, [content]);
  return ref;
};

const watchOnline = (notify: () => void): (() => void) => {
  addEventListener("online", notify);
  addEventListener("offline", notify);
  return () => {
    removeEventListener("online", notify);
    removeEventListener("offline", notify);
  };
};

const useOnline = (): boolean => useSyncExternalStore(watchOnline, () => navigator.onLine);

/**
 * The problem's text, and the request id for the operator's log. `onRetry`: reads the page again; without it, the
 * person repeats the action. `shownFields`: the fields of the form that show their own errors.
 */
export const Failure = ({
  error,
  onRetry,
  shownFields = [],
}: {
  error: unknown;
  onRetry?: () => void;
  shownFields?: readonly string[];
}) => {
  const isOnline = useOnline();
  const ref = useInView<HTMLDivElement>(error);
  const { title, detail, requestId, fields } = errorText(error, { isOnline, isRead: onRetry !== undefined });
  const others = fields.filter(({ name }) => !shownFields.includes(name));
  return (
    <div ref={ref} role="alert" className="mb-4 scroll-mt-4 rounded-xl border border-bad bg-bad-soft px-4 py-3 text-sm">
      <p className="font-semibold text-bad">{title}</p>
      <p className="mt-1 break-words">
        {others.length < fields.length ? "Nothing was saved. Look at the marked fields." : <Prose text={detail} />}
      </p>
      {others.length > 0 && (
        <ul className="mt-1 list-disc pl-5">
          {others.map(({ name, detail: text }) => (
            <li key={`${name} ${text}`}>
              <Prose text={name ? `${name}: ${text}` : text} />
            </li>
          ))}
        </ul>
      )}
      {requestId && (
        <p className="mt-2 text-muted">
          Request <code className="break-all">{requestId}</code>
        </p>
      )}
      {onRetry && (
        <Button className="mt-3" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
};

export const OfflineNotice = () => {
  const isOnline = useOnline();
  return (
    <div role="status">
      {!isOnline && (
        <p className="bg-warn-soft px-4 py-2 text-center text-sm text-warn">
          This device is offline. The shown data may be old.
        </p>
      )}
    </div>
  );
};

type Query<Data> = { data: Data | undefined; error: unknown; isPending: boolean; refetch: () => unknown };

/** Shows `children` for the data of a query; before it, the skeleton; after a failure, the problem above older data. */
export function Loaded<Data>({
  query,
  skeleton,
  children,
}: {
  query: Query<Data>;
  skeleton: ReactNode;
  children: (data: Data) => ReactNode;
}) {
  return (
    <>
      {query.error ? <Failure error={query.error} onRetry={() => query.refetch()} /> : null}
      {query.data !== undefined ? children(query.data) : query.isPending ? skeleton : null}
    </>
  );
}

type Pages = {
  data: { pages: { data: unknown[] }[] } | undefined;
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage: () => unknown;
  /** The number of matches, for a list that is only partly loaded. */
  total: ListTotal | undefined;
};
/** The number of items of a list, and the button that loads the next page. Not shown for an empty list. */
export const ListEnd = ({ query, noun }: { query: Pages; noun: string }) => {
  const { hasNextPage, isFetchingNextPage, fetchNextPage, total } = query;
  const count = query.data?.pages.reduce((sum, { data }) => sum + data.length, 0) ?? 0;
  if (count === 0 && !hasNextPage) return null;
  return (
    <div className="mt-3 flex flex-wrap items-center gap-3 text-sm text-muted">
      <p>{totalText(count, noun, hasNextPage, total)}</p>
      {hasNextPage && (
        <Button isBusy={isFetchingNextPage} onClick={() => fetchNextPage()}>
          Show older ones
        </Button>
      )}
    </div>
  );
};
