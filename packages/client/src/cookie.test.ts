/** The client of a page that the service itself serves: the cookie of the page's origin in place of a key. */
import { expect, test } from "bun:test";
import { createClient } from "./index.ts";

/** The requests that a client sends, each answered with an empty page of a list. */
const recordRequests = () => {
  const requests: Request[] = [];
  const fetch = async (request: Request): Promise<Response> => {
    requests.push(request);
    return Response.json({ data: [], nextCursor: null });
  };
  return { requests, fetch };
};

test.each(["live", "test"] as const)(
  "a request, in environment %s: names it, and carries no key",
  async (cookieEnvironment) => {
    const { requests, fetch } = recordRequests();
    const client = createClient({ baseUrl: "https://avatars.example.com", cookieEnvironment, fetch });
    await client.GET("/api/v1/avatars");
    await client.POST("/api/v1/avatars", { body: { displayName: "Ada", sourceKind: "image" } });
    for (const { headers, redirect } of requests) {
      expect(headers.get("realtime-avatar-environment")).toBe(cookieEnvironment);
      expect(headers.get("authorization")).toBeNull();
      expect(redirect).toBe("manual");
    }
    expect(requests.map(({ method }) => method)).toEqual(["GET", "POST"]);
  },
);

test("a request, naming another environment than its client: the client's counts", async () => {
  const { requests, fetch } = recordRequests();
  const client = createClient({ baseUrl: "https://avatars.example.com", cookieEnvironment: "test", fetch });
  await client.GET("/api/v1/avatars", { headers: { "Realtime-Avatar-Environment": "live" } });
  expect(requests[0]?.headers.get("realtime-avatar-environment")).toBe("test");
});

test("a client, with a key: names no environment", async () => {
  const { requests, fetch } = recordRequests();
  const apiKey = `rta_test_${"0".repeat(16)}_${"0".repeat(49)}`;
  await createClient({ baseUrl: "https://avatars.example.com", apiKey, fetch }).GET("/api/v1/avatars");
  expect(requests[0]?.headers.get("authorization")).toBe(`Bearer ${apiKey}`);
  expect(requests[0]?.headers.has("realtime-avatar-environment")).toBe(false);
});
