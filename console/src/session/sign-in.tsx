import { Alert, Button, Divider, Group, PasswordInput, Stack, Text, TextInput, Title } from "@mantine/core";
import { type FormEvent, type ReactNode, useEffect, useState } from "react";
import { consolePath } from "@/api/base.ts";
import { Brand } from "@/components/icons.tsx";
import { Command, Failure } from "@/components/states.tsx";
import classes from "@/layout/layout.module.css";
import { text } from "@/text/frame.ts";
import { addressOf, isSignInPage, readReturn } from "./return.ts";
import { readSignInOptions, type Session, signIn } from "./session.ts";

interface SignInProps {
  readonly onSignIn: (session: Session) => void;
  /** The form covers a page whose session ran out. */
  readonly ended: boolean;
}

/** Exchanges a gateway key, or the organisation's identity provider, for a session. */
export function SignIn({ onSignIn, ended }: SignInProps): ReactNode {
  const [key, setKey] = useState("");
  const problem = readProblem();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      onSignIn(await signIn(key.trim()));
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <div
      className={classes.signIn}
      data-ended={ended || undefined}
      role="dialog"
      aria-modal="true"
      aria-label={text.signIn.title}
    >
      <main className={classes.card}>
        <form onSubmit={submit}>
          <Stack>
            <Group gap="xs">
              <Brand size={28} />
              <Text fw={600}>{text.common.product}</Text>
            </Group>
            <div>
              <Title order={1}>{ended ? text.signIn.ended : text.signIn.title}</Title>
              {ended && (
                <Text size="sm" c="dimmed">
                  {text.signIn.endedHint}
                </Text>
              )}
            </div>
            <PasswordInput
              label={text.signIn.key}
              description={text.signIn.keyHint}
              value={key}
              onChange={(event) => setKey(event.currentTarget.value)}
              autoComplete="off"
              autoFocus
              required
              size="sm"
            />
            {error === undefined && problem !== undefined && (
              <Alert color="red" variant="light" role="alert">
                {problem}
              </Alert>
            )}
            {error !== undefined && <Failure error={error} />}
            <Button type="submit" size="sm" loading={busy}>
              {text.signIn.submit}
            </Button>
            <Provider />
            {!ended && (
              <details className={classes.help}>
                <summary>{text.signIn.where}</summary>
                <Text size="xs" c="dimmed" my="xs">
                  {text.signIn.findKey}
                </Text>
                <Command value={text.signIn.findKeyCommand} />
                <Text size="xs" c="dimmed" mt="xs">
                  {text.signIn.askForKey}
                </Text>
              </details>
            )}
          </Stack>
        </form>
      </main>
    </div>
  );
}

/** What went wrong at the identity provider, as the address says it. */
function readProblem(): string | undefined {
  const problem = new URLSearchParams(location.search).get("problem");
  if (problem === null || !isSignInPage()) return undefined;
  const { problems } = text.signIn;
  return Object.entries(problems).find(([name]) => name === problem)?.[1] ?? problems.stale;
}

interface Offer {
  readonly oidc: boolean;
  readonly asksOrganisation: boolean;
}

/** The way to the organisation's identity provider, where one is set up. It comes back to the page that was asked for. */
function Provider(): ReactNode {
  const [offer, setOffer] = useState<Offer>({ oidc: false, asksOrganisation: false });
  const [organisation, setOrganisation] = useState("");
  useEffect(() => {
    const read = async () => {
      const { methods, asks_organisation: asksOrganisation } = await readSignInOptions();
      setOffer({ oidc: methods.includes("oidc"), asksOrganisation });
    };
    // Without the list, the key still signs in.
    read().catch(() => setOffer({ oidc: false, asksOrganisation: false }));
  }, []);
  if (!offer.oidc) return null;
  const here = isSignInPage() ? addressOf(readReturn(location.search)) : location.pathname + location.search;
  const query = new URLSearchParams({ return_to: here });
  if (organisation !== "") query.set("organisation", organisation);
  return (
    <>
      <Divider />
      {offer.asksOrganisation && (
        <TextInput
          label={text.signIn.organisation}
          value={organisation}
          onChange={(event) => setOrganisation(event.currentTarget.value)}
        />
      )}
      <Button component="a" variant="default" size="sm" href={`${consolePath}/sign-in/oidc?${query}`}>
        {text.signIn.provider}
      </Button>
    </>
  );
}
