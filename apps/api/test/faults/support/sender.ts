/** Sends the requests of a load, and checks each response against the documents. */
import { type Answer, readAnswer, requestInit } from "../../support/api.ts";

/** The state of a request, known from its response. */
export type RequestState = "acknowledged" | "refused" | "unknown";

/** A full secret of any key. */
const SECRET = /rta_(live|test)_[0-9A-Za-z]{16}_[0-9A-Za-z]{49}/;
export const holdsSecret = (text: string): boolean => SECRET.test(text);

/** Longer than any deadline. A request without a response by then hangs. */
const HANGS_MS = 20_000;

export type LoadRequest = {
  lane: number;
  method: string;
  path: string;
  /** The secret of the calling key. */
  key: string;
  body?: unknown;
  idempotencyKey?: string | undefined;
  /** The statuses of a success; by default 201. */
  expected?: readonly number[];
  /** Other documented statuses. Such a request is acknowledged, but not a success. */
  declined?: readonly number[];
};

export type Result = {
  known: RequestState;
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: the caller reads the members of the response
  body: any;
  /** Whether the outcome of an attempt is unknown, so that it may still take effect. */
  wasUnknown: boolean;
};

/** Sends requests, and counts their outcomes. `isKilled`: the service may end during a request. */
export class Sender {
  readonly violations: string[] = [];
  readonly counts = { requests: 0, acknowledged: 0, declined: 0, refused: 0, unknown: 0 };
  successes = 0;
  failures = 0;
  lastSuccess = performance.now();
  outageMs = 0;
  slowestMs = 0;
  backMs: number | null = null;
  #healedAt: number | null = null;
  readonly #urls: readonly string[];
  readonly #isKilled: boolean;

  constructor(urls: readonly string[], isKilled: boolean) {
    this.#urls = urls;
    this.#isKilled = isKilled;
  }

  healed(): void {
    this.#healedAt = performance.now();
    this.backMs = null;
  }

  #succeeded(now: number): void {
    this.successes++;
    this.outageMs = Math.max(this.outageMs, now - this.lastSuccess);
    this.lastSuccess = now;
    if (this.#healedAt !== null) this.backMs ??= now - this.#healedAt;
  }

  /**
   * The state of a request whose response is neither a success nor declined. A response that the documents do not
   * promise is a violation.
   */
  #failed({ method, path }: LoadRequest, { status, headers, text, body }: Answer): RequestState {
    this.failures++;
    if (holdsSecret(text)) this.violations.push("an error contains a secret");
    if (status === 503 && body?.code === "outcome_unknown") {
      this.counts.unknown++;
      return "unknown";
    }
    this.counts.refused++;
    if (status !== 503 || body?.code !== "unavailable") {
      this.violations.push(`${method} ${path} was answered with ${status} ${text.slice(0, 200)}`);
    }
    if (status === 503 && !headers.has("retry-after")) this.violations.push("a 503 without Retry-After");
    return "refused";
  }

  /** Sends one request. A read does not count as a success, because it can work while writes fail. */
  async send(request: LoadRequest): Promise<Result> {
    const { lane, method, path, key, body, idempotencyKey, expected = [201], declined = [] } = request;
    this.counts.requests++;
    const startedAt = performance.now();
    const headers = idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey };
    const url = this.#urls[(lane + this.counts.requests) % this.#urls.length] ?? "";
    const init = { ...requestInit(method, { key, body, headers }), signal: AbortSignal.timeout(HANGS_MS) };
    try {
      const answer = await readAnswer(await fetch(url + path, init));
      const now = performance.now();
      this.slowestMs = Math.max(this.slowestMs, now - startedAt);
      const { status } = answer;
      if (expected.includes(status) || declined.includes(status)) {
        if (expected.includes(status)) this.counts.acknowledged++;
        else this.counts.declined++;
        if (expected.includes(status) && method !== "GET") this.#succeeded(now);
        return { known: "acknowledged", status, body: answer.body, wasUnknown: false };
      }
      const known = this.#failed(request, answer);
      return { known, status, body: answer.body, wasUnknown: known === "unknown" };
    } catch (error) {
      this.failures++;
      this.counts.unknown++;
      if (performance.now() - startedAt >= HANGS_MS) this.violations.push(`${method} ${path} hangs`);
      else if (!this.#isKilled) this.violations.push(`${method} ${path} was not answered: ${String(error)}`);
      return { known: "unknown", status: 0, body: null, wasUnknown: true };
    }
  }

  /** Repeats a request until it is acknowledged. */
  async sendUntilDone(request: LoadRequest): Promise<Result> {
    let wasUnknown = false;
    for (let attempt = 0; attempt < 400; attempt++) {
      const result = await this.send(request);
      wasUnknown ||= result.wasUnknown;
      if (result.known === "acknowledged") return { ...result, wasUnknown };
      await Bun.sleep(20 + Math.random() * 80);
    }
    this.violations.push(`${request.method} ${request.path} never succeeded`);
    return { known: "unknown", status: 0, body: {}, wasUnknown: true };
  }

  async untilSuccesses(count: number): Promise<void> {
    const wanted = this.successes + count;
    const since = performance.now();
    while (this.successes < wanted) {
      if (performance.now() - since > 30_000) {
        throw new Error(`the service no longer responds: ${this.violations.slice(0, 3).join("; ")}`);
      }
      await Bun.sleep(2);
    }
  }

  async untilFailure(): Promise<void> {
    const before = this.failures;
    const since = performance.now();
    while (this.failures === before) {
      if (performance.now() - since > 30_000) throw new Error("nothing fails");
      await Bun.sleep(2);
    }
  }
}
