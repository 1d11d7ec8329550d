import { type ReactNode, useEffect } from "react";
import { OfflineNotice } from "../components/state.tsx";
import { Sign } from "../layout/brand.tsx";
import { publicOrigin } from "../page-settings.ts";
import { BASE, PRODUCT } from "../paths.ts";

/**
 * The origin at which passkeys work, because browsers bind them to one host, and refuse addresses such as 127.0.0.1.
 * null: the current origin.
 */
const rightOrigin = (): string | null => {
  const origin = publicOrigin();
  if (origin !== "") return origin === location.origin ? null : origin;
  return location.hostname === "127.0.0.1" || location.hostname === "[::1]"
    ? location.origin.replace(location.hostname, "localhost")
    : null;
};

/**
 * The frame of the pages before the sign-in. At another origin than the public one, it only shows a link to the public
 * one.
 */
export const SignInFrame = ({ title, children }: { title: string; children: ReactNode }) => {
  useEffect(() => {
    document.title = `${title} · ${PRODUCT}`;
  }, [title]);
  const origin = rightOrigin();
  const { pathname, hash } = location;
  return (
    <>
      <OfflineNotice />
      <main className="mx-auto grid min-h-[85dvh] max-w-md content-center px-4 py-10">
        <p className="mb-4 flex items-center gap-2.5 text-lg font-semibold tracking-tight">
          <Sign />
          {PRODUCT}
        </p>
        <div className="rounded-2xl border border-line bg-surface p-6 shadow-sm">
          <h1 className="mb-3 text-xl font-semibold">{title}</h1>
          {origin === null ? (
            children
          ) : (
            <p>
              Passkeys work only at the public address of this service. Continue at{" "}
              <a className="font-medium break-all text-accent underline" href={`${origin}${pathname || BASE}${hash}`}>
                {origin}
              </a>
              .
            </p>
          )}
        </div>
      </main>
    </>
  );
};
