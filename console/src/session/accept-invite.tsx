import { Button, Stack, Text, TextInput, Title } from "@mantine/core";
import { type FormEvent, type ReactNode, useState } from "react";
import { consolePath } from "@/api/base.ts";
import { post } from "@/api/client.ts";
import { Command, Failure } from "@/components/states.tsx";
import classes from "@/layout/layout.module.css";
import { text } from "@/text/text.ts";

const words = text.acceptInvite;

/** The page behind the link of an invite: makes the invited person a user, without a session. */
export function AcceptInvite(): ReactNode {
  const search = new URLSearchParams(location.search);
  const [first, setFirst] = useState("");
  const [last, setLast] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const [keys, setKeys] = useState<readonly string[]>();
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      const names = {
        ...(first.trim() !== "" && { first_name: first.trim() }),
        ...(last.trim() !== "" && { last_name: last.trim() }),
      };
      const answer = await post("/v1/admin/users/invites/{inviteId}/accept", {
        path: { inviteId: search.get("invite") ?? "" },
        body: { token: search.get("token") ?? "", ...names },
      });
      // in the order the gateway made them
      setKeys(answer.api_keys.map(({ key }) => key));
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <div className={classes.signIn}>
      <main className={classes.card}>
        {keys === undefined ? (
          <form onSubmit={submit}>
            <Stack>
              <Title order={1}>{words.title}</Title>
              <Text size="sm" c="dimmed">
                {words.hint}
              </Text>
              <TextInput
                label={text.resources.users.first}
                value={first}
                onChange={(event) => setFirst(event.currentTarget.value)}
                autoComplete="given-name"
                size="sm"
              />
              <TextInput
                label={text.resources.users.last}
                value={last}
                onChange={(event) => setLast(event.currentTarget.value)}
                autoComplete="family-name"
                size="sm"
              />
              {error !== undefined && <Failure error={error} />}
              <Button type="submit" size="sm" loading={busy}>
                {words.submit}
              </Button>
            </Stack>
          </form>
        ) : (
          <Accepted keys={keys} />
        )}
      </main>
    </div>
  );
}

function Accepted({ keys }: { readonly keys: readonly string[] }): ReactNode {
  return (
    <Stack>
      <Title order={1}>{words.done}</Title>
      <Text size="sm">{keys.length === 0 ? words.noKey : words.keyHint}</Text>
      {keys.map((key) => (
        <Command key={key} value={key} />
      ))}
      <Button component="a" href={consolePath} size="sm">
        {text.signIn.submit}
      </Button>
    </Stack>
  );
}
