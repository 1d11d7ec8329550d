/**
 * Repeats an action after a verification. The service refuses an action that needs a recent passkey with 403
 * `passkey_required`. A dialog then asks for the passkey, after which the action is repeated. A person who signs in at
 * a provider leaves the page for the provider and comes back. The action is not repeated then.
 */
import { RETURN_PATHS } from "@realtime-avatar/domain/people/oidc-pages";
import { useQuery } from "@tanstack/react-query";
import { createContext, type ReactNode, useCallback, useContext, useMemo, useRef, useState } from "react";
import { isProblem } from "../api/client.ts";
import { beginVerification, type Provider, readVerificationOptions, verify } from "../api/people.ts";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Failure } from "../components/state.tsx";
import { BASE } from "../paths.ts";
import { ProviderButton } from "../sign-in/oidc.tsx";
import { useParameters } from "./navigation.tsx";

type RunVerified = <Result>(action: () => Promise<Result>) => Promise<Result>;
type Waiting = { resolve: () => void; reject: (error: unknown) => void };

const VerifiedContext = createContext<RunVerified>((action) => action());

/** Returns a function that runs an action, and asks for the passkey if the service requires it. */
export const useVerified = (): RunVerified => useContext(VerifiedContext);

/** The action was given up in the dialog. */
export class Cancelled extends Error {
  override readonly name = "Cancelled";
}

/** The button that goes to the provider, and its consequences. */
const AtProvider = ({ provider }: { provider: Provider }) => {
  const { environment } = useParameters();
  const page = location.pathname.slice(BASE.length);
  const returnTo = RETURN_PATHS.find((path) => path === page) ?? "/";
  return (
    <>
      <p className="mt-4 text-sm text-muted">
        At {provider.name} you are asked to sign in again, and come back to this page. What you have entered here is not
        kept: start the action again then.
      </p>
      <ProviderButton begin={() => beginVerification(returnTo, environment ?? "live")}>
        {`Confirm at ${provider.name}`}
      </ProviderButton>
    </>
  );
};

const PasskeyDialog = ({ waiting, onDone }: { waiting: Waiting; onDone: () => void }) => {
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const [controller] = useState(() => new AbortController());
  const options = useQuery({ queryKey: ["verification"], queryFn: readVerificationOptions, gcTime: 0 }).data;
  const hasPasskey = options?.hasPasskey ?? true;
  const confirm = async () => {
    setBusy(true);
    setError(null);
    try {
      await verify(controller.signal);
      waiting.resolve();
      onDone();
    } catch (failure) {
      // After a cancellation, this dialog is already closed.
      setError(failure);
      setBusy(false);
    }
  };
  const cancel = () => {
    controller.abort();
    waiting.reject(new Cancelled("The passkey was not confirmed, so nothing was changed."));
    onDone();
  };
  return (
    <Dialog
      title="Confirm it is you"
      onClose={cancel}
      actions={
        <>
          <Button onClick={cancel}>Cancel</Button>
          {hasPasskey && (
            <Button kind="primary" isBusy={isBusy} onClick={confirm} data-focus>
              Use the passkey
            </Button>
          )}
        </>
      }
    >
      {error ? <Failure error={error} /> : null}
      <p>
        {hasPasskey
          ? "This action needs your passkey again. You are not asked again for the next five minutes."
          : "This action needs you to confirm who you are. You are not asked again for the next five minutes."}
      </p>
      <p role="status" className="mt-2 min-h-6 text-sm text-muted">
        {isBusy && "Your device is asking for the passkey. If it does not, cancel and start again."}
      </p>
      {options?.oidc && <AtProvider provider={options.oidc} />}
    </Dialog>
  );
};

export const VerifiedProvider = ({ children }: { children: ReactNode }) => {
  const [waiting, setWaiting] = useState<Waiting | null>(null);
  const pending = useRef<Promise<void>>(null);
  /** Two actions that wait at the same time share the dialog. */
  const askForPasskey = useCallback(() => {
    pending.current ??= new Promise<void>((resolve, reject) => setWaiting({ resolve, reject })).finally(() => {
      pending.current = null;
    });
    return pending.current;
  }, []);
  const run = useMemo<RunVerified>(
    () => async (action) => {
      try {
        return await action();
      } catch (error) {
        if (!isProblem(error, "passkey_required")) throw error;
        await askForPasskey();
        return action();
      }
    },
    [askForPasskey],
  );
  return (
    <VerifiedContext value={run}>
      {children}
      {waiting && <PasskeyDialog waiting={waiting} onDone={() => setWaiting(null)} />}
    </VerifiedContext>
  );
};
