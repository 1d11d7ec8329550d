/** Sign-in at a provider of OpenID Connect: the browser leaves the page, and comes back from there. */
import { useState } from "react";
import { Button } from "../components/button.tsx";
import { Failure } from "../components/state.tsx";

/** The tenant of the last sign-in address of this browser: after a sign-out, the address does not name it. It is no secret. */
const TENANT_KEY = "realtime-avatar-tenant";

export const rememberTenant = (tenantId: string): void => {
  try {
    localStorage.setItem(TENANT_KEY, tenantId);
  } catch {
    // The browser keeps nothing. The whole address works.
  }
};

export const rememberedTenant = (): string | null => {
  try {
    const text = localStorage.getItem(TENANT_KEY);
    return text !== null && /^ten_[0-9a-z]{26}$/.test(text) ? text : null;
  } catch {
    return null;
  }
};

type Props = {
  children: string;
  /** Begins an attempt, and returns the address of the provider; null when the form is not complete. */
  begin: () => Promise<string> | null;
};

/** A button that leads to the provider. */
export const ProviderButton = ({ children, begin }: Props) => {
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const leave = async () => {
    const address = begin();
    if (address === null) return;
    setBusy(true);
    setError(null);
    try {
      location.assign(await address);
      // It stays busy until the browser has left. Back from the provider's page, it is a button again.
      addEventListener("pageshow", () => setBusy(false), { once: true });
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return (
    <div className="mt-3">
      {error ? <Failure error={error} /> : null}
      <Button className="w-full" isBusy={isBusy} onClick={leave}>
        {children}
      </Button>
    </div>
  );
};
