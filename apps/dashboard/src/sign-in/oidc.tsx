/** Sign-in at an OpenID Connect provider: the browser leaves the page. The provider redirects it back. */
import { useState } from "react";
import { Button } from "../components/button.tsx";
import { Failure } from "../components/state.tsx";

/**
 * The storage key for the tenant of the last sign-in: after a sign-out, the address does not contain the tenant. The
 * tenant is not secret.
 */
const TENANT_KEY = "realtime-avatar-tenant";

export const rememberTenant = (tenantId: string): void => {
  try {
    localStorage.setItem(TENANT_KEY, tenantId);
  } catch {
    // Storage is unavailable. The complete address still works.
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
  /** Begins an attempt, and returns the address of the provider; null when the form is incomplete. */
  begin: () => Promise<string> | null;
};

/** A button that goes to the provider. */
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
      // The button stays busy until the browser has left the page. When the browser comes back, it is enabled again.
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
