// A real OpenID provider on loopback: whoever signs in as NAME has the groups that GROUPS gives that name.

import Provider from "oidc-provider";

const { PORT, REDIRECT, SECRET, GROUPS } = process.env;
const groups = JSON.parse(GROUPS);
const issuer = `http://127.0.0.1:${PORT}`;

const provider = new Provider(issuer, {
  clients: [{ client_id: "tickwise", client_secret: SECRET, redirect_uris: [REDIRECT] }],
  claims: { openid: ["sub"], profile: ["preferred_username"], groups: ["groups"] },
  scopes: ["openid", "profile", "groups"],
  cookies: { keys: ["of this test"] },
  findAccount: (_, name) => ({
    accountId: name,
    claims: () => ({ sub: name, preferred_username: name, groups: groups[name] ?? [] }),
  }),
});

provider.listen(Number(PORT), "127.0.0.1", () => console.log("the provider is ready"));
