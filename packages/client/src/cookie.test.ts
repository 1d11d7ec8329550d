/** The client in a page of the service: the cookie of the page's origin instead of a key. */
import { expect, test } from "bun:test";
import { createClient } from "./index.ts";

/** Records the requests of a client, and responds to each with an empty page of a list. */
const recordRequests = () => {
  const requests: Request[] = [];
  const fetch = async (request: Request): Promise<Response> => {
    requests.push(request);
    return Response.json({ data: [], nextCursor: null });
  };
  return { requests, fetch };
};

test.each(["live", "test"] as const)(
  "a request, in environment %s: has its header, and no key",
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

test("a request with the header of another environment: the client's environment is sent", async () => {
  const { requests, fetch } = recordRequests();
  const client = createClient({ baseUrl: "https://avatars.example.com", cookieEnvironment: "test", fetch });
  await client.GET("/api/v1/avatars", { headers: { "Realtime-Avatar-Environment": "live" } });
  expect(requests[0]?.headers.get("realtime-avatar-environment")).toBe("test");
});

test("a client with a key: no header for the environment", async () => {
  const { requests, fetch } = recordRequests();
  const apiKey = `rta_test_${"0".repeat(16)}_${"0".repeat(49)}`;
  await createClient({ baseUrl: "https://avatars.example.com", apiKey, fetch }).GET("/api/v1/avatars");
  expect(requests[0]?.headers.get("authorization")).toBe(`Bearer ${apiKey}`);
  expect(requests[0]?.headers.has("realtime-avatar-environment")).toBe(false);
});
