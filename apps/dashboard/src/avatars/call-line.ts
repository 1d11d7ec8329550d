/** A call of up to a minute with an avatar, for a key with `realtime:write`. */
export const callLine = (id: string): string =>
  `curl -sS ${location.origin}/api/v1/usage/sessions -H "Authorization: Bearer $API_KEY" ` +
  `-H "Content-Type: application/json" -d '{"avatarId": "${id}", "maxSessionSeconds": 60}'`;
