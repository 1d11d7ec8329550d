/** The names of objects. Each links to the page of the object, and has a button that copies its id. */
import { CopyId } from "../components/copy.tsx";
import { useAccount } from "./context.tsx";
import { LINK, type Page, PageLink, type SearchChange } from "./navigation.tsx";

type Place = { to: Page; search?: SearchChange };

/** The page that shows an object, by the prefix of its id. */
export const PLACES: Record<string, (id: string) => Place> = {
  key: (id) => ({ to: "/keys", search: { key: id, all: true } }),
  ava: (id) => ({ to: "/avatars", search: { avatar: id } }),
  vid: (id) => ({ to: "/videos", search: { video: id } }),
  ses: (id) => ({ to: "/usage", search: { session: id } }),
  whe: (id) => ({ to: "/webhooks", search: { endpoint: id } }),
  usr: () => ({ to: "/people" }),
  uss: () => ({ to: "/people" }),
  inv: () => ({ to: "/people" }),
  psk: () => ({ to: "/people" }),
  idn: () => ({ to: "/people" }),
};

/** Shown for an object without a name, by kind. */
const KINDS: Record<string, string> = {
  ava: "An avatar",
  ast: "A file",
  usr: "A former member",
  uss: "A session",
  inv: "An invitation",
  psk: "A passkey",
  idn: "A linked account",
  vid: "A video",
  ses: "A usage session",
  ent: "A credit entry",
  ten: "The team",
  whe: "A webhook endpoint",
};

/** Kinds whose objects have names. Without a name, the object was deleted, or belongs to live and is hidden in test. */
const NAMED = ["key", "ava", "usr"];

type Named = { id: string; name: string | null };

/** The name of an object, or its substitute. */
export const useNameText = (): (({ id, name }: Named) => string) => {
  const { environment } = useAccount();
  return ({ id, name }) => {
    const kind = id.slice(0, 3);
    return name ?? (kind === "key" ? (environment === "test" ? "A live key" : "A key") : (KINDS[kind] ?? id));
  };
};

export const ObjectName = ({ id, name, className = "" }: Named & { className?: string }) => {
  const text = useNameText()({ id, name });
  const kind = id.slice(0, 3);
  const place = name === null && NAMED.includes(kind) ? undefined : PLACES[kind]?.(id);
  return (
    <span className={`inline-flex max-w-full min-w-0 items-center gap-1 ${className}`}>
      {place ? (
        <PageLink {...place} className={`${LINK} min-w-0 truncate`}>
          {text}
        </PageLink>
      ) : (
        <span className="min-w-0 truncate">{text}</span>
      )}
      <CopyId id={id} />
    </span>
  );
};
