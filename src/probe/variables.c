/* Variables by list, and by prefix where a family grows with every release. Values that are secrets
 * are never kept. */
#include "probe/variables.h"

#include <string.h>

#include "base/test.h"
#include "names/modes.h"
#include "wire/secret.h"

/* Families of libraries whose every variable changes what runs. */
static const char *const prefixes[] = {
	"AITER_",   "FLASH_ATTENTION_",   "HIPBLASLT_", "MIOPEN_",  "NCCL_",
	"NVTE_",    "PYTORCH_TUNABLEOP_", "RCCL_",      "ROCBLAS_", "SGLANG_",
	"TENSILE_", "TORCHINDUCTOR_",     "TRITON_",    "VLLM_",    "XLA_"};

/* A token, a key, a password, or a URL that carries one. */
static bool is_secret(const char *name, const char *value)
{
	/* as one assignment: its name counts, and a plain number gives nothing away */
	assay_arena a = {0};
	const char *text = assay_printf(&a, "%s=%s", name, value);
	char *open = assay_dup(&a, assay_str_of(text));
	size_t n = strlen(text);
	bool secret = assay_hide_secrets(open, n) != n || memcmp(text, open, n) != 0;
	assay_arena_free(&a);
	return secret;
}

void assay_ctx_hide_secrets(assay_ctx *c)
{
	for (char **v = c->vars; *v; v++) {
		assay_str value = assay_str_of(*v), name = assay_str_cut(&value, '=');
		char *z = assay_dup(c->a, name);
		if (value.n && is_secret(z, value.p))
			*v = assay_printf(c->a, "%s=(hidden)", z);
	}
}

static bool is_listed(const assay_pairs *p, assay_str name)
{
	for (size_t i = 0; i < p->n; i++)
		if (assay_str_is(name, p->p[i].key))
			return true;
	return false;
}

static bool by_prefix(assay_str name)
{
	return assay_str_starts_any(name, prefixes, ASSAY_COUNT_OF(prefixes));
}

static void sort_from(assay_pairs *p, size_t from)
{
	for (size_t i = from + 1; i < p->n; i++)
		for (size_t k = i; k > from && strcmp(p->p[k - 1].key, p->p[k].key) > 0; k--) {
			assay_pair t = p->p[k];
			p->p[k] = p->p[k - 1];
			p->p[k - 1] = t;
		}
}

void assay_ctx_prefixed_vars(assay_ctx *c)
{
	assay_env *e = c->env;
	size_t from = e->more_vars.n;
	for (char **v = c->vars; v && *v; v++) {
		assay_str value = assay_str_of(*v), name = assay_str_cut(&value, '=');
		bool wanted = by_prefix(name) || assay_mode_of_variable(name) < ASSAY_MODE_COUNT;
		if (!wanted || is_listed(&e->vars, name) || is_listed(&e->more_vars, name))
			continue;
		const char *z = assay_dup(c->a, name);
		assay_ctx_pair(c, &e->more_vars, z, assay_ctx_var(c, z));
	}
	sort_from(&e->more_vars, from);
	for (size_t i = 0; c->vars_known && i < ASSAY_COUNT_OF(prefixes); i++)
		*assay_push(&e->absent) = assay_printf(c->a, "assay.env_vars.%s*", prefixes[i]);
}

TEST(secrets_are_known_by_name_and_by_look)
{
	static const char *const secret[][2] = {
		{"VLLM_API_KEY", "x"},
		{"HF_TOKEN", "abc"},
		{"AWS_SECRET_ACCESS_KEY", "wJalr/K7MDENG+bPx"},
		{"NCCL_X", "hf_abcdefghij0123456789"},
		{"NCCL_X", "hf_AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGh"},
		{"VLLM_URL", "https://me:pw@host/x"},
		{"VLLM_URL", "https://me:p/w@host/x"},
		{"VLLM_URL", "https://h/x?X-Amz-Signature=af01&b=1"},
		{"VLLM_CONF", "{\"a\": 1, \"api_key\": \"letmein\"}"},
		{"VLLM_HEADERS", "Authorization: Bearer letmein"},
		{"VLLM_ARGS", "--port 80 --password letmein"},
		{"NCCL_PROXY", "me:letmein@proxy:3128"},
		{"VLLM_CREDS", "letmein"},
		{"NCCL_DEBUG_FILE", "https://h/x?sig=af01"},
		{"VLLM_URL", "https://h/t/AKIA0123456789ABCDEF/x.whl"},
		{"VLLM_PRIVATE", "letmein"},
		{"VLLM_API_KEYS", "letmein,other"},
		{"NCCL_PAT", "letmein"},
		{"VLLM_URL", "https%3A%2F%2Fme%3Aletmein%40host%2Fx"},
		{"VLLM_URL", "https://h/?next=https%3A%2F%2Fme%3Aletmein%40host"},
		{"VLLM_URL", "https%253A%252F%252Fme%253Aletmein%2540host"},
		{"VLLM_URL", "https://h/x%3Faccess_token%3Dletmein"},
		{"VLLM_PROXY", "me%3Aletmein@host:80"},
		{"VLLM_ODD", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"},
		{"VLLM_DB", "Server=db;Uid=me;Pwd=letmein;"},
		{"VLLM_PEM",
		 "-----BEGIN RSA PRIVATE KEY-----\nMIIEvQ\n-----END RSA PRIVATE KEY-----"},
		{"VLLM_ODD", "ya29.a0AfH6SMBletmein"},
		{"VLLM_HEADERS", "Cookie: session=letmein"},
		{"VLLM_HEADERS", "Authorization: Token letmein"},
		{"VLLM_ARGS", "[\"--password\", \"letmein\"]"},
		{"VLLM_FETCH", "curl -u me:letmein https://h"},
		{"VLLM_NETRC", "machine h login me password letmein"},
		{"VLLM_URL", "https://hooks.slack.com/services/T00000000/B00000000/letmein"},
		{"VLLM_URL", "https://discord.com/api/webhooks/123456789012345678/letmein"},
		{"VLLM_URL", "//me:letmein@host/x"},
		{"VLLM_URL", "https://h/x;jsessionid=letmein"},
		{"VLLM_URL", "https://h/bot123456789:AAletmein0123456789abcdefghijklmnop/x"},
		{"VLLM_ODD", "123456789:AAletmein0123456789abcdefghijklmnop"},
		{"VLLM_ODD", "AGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQ"},
		{"VLLM_ODD", "shpat_0123456789abcdef0123456789abcdef"},
		{"VLLM_ODD", "dapi0123456789abcdef0123456789abcdef"},
		{"VLLM_ODD", "EAAAEletmein0123456789"},
		{"VLLM_OTP_SEED", "JBSWY3DPEHPK3PXP"},
		{"VLLM_SALT", "letmein"},
		{"VLLM_SIGNING", "letmein"},
		{"VLLM_SESSION", "letmein"},
		{"VLLM_PIN", "4711"},
		{"VLLM_PASSWORD", "123456"},
		{"NCCL_X", "0123456789abcdef0123456789abcdef01234567"},
		{"NCCL_X", "kT9vQ2mXz7LpR4wB8sHd"},
		{"VLLM_URL", "https://h/callback?code=4/0AX4XfWh-abc&state=x"},
		{"VLLM_URL", "https://h/sso?ticket=ST-1856339-letmein"},
		{"VLLM_URL", "https://x.webhook.office.com/webhookb2/letmein@a/b"},
		{"VLLM_NOTE", "the password is letmein"},
		{"VLLM_NOTE", "log in as me, password letmein"},
		{"VLLM_NOTE", "your token is abc123"},
		{"VLLM_ODD", "lin_api_letmein0123456789"},
		{"VLLM_ODD", "gAAAAABhletmein0123456789"},
		{"VLLM_ODD", "key-letmein0123456789"},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(secret); i++)
		CHECK(is_secret(secret[i][0], secret[i][1]));
	return 0;
}

TEST(what_is_no_secret_stays)
{
	static const char *const open[][2] = {
		{"VLLM_URL", "https://host:8080/a@b"},
		{"NCCL_IB_HCA", "mlx5_0"},
		{"NCCL_IB_PKEY", "0"},
		{"VLLM_MAX_TOKENS", "512"},
		{"XLA_FLAGS", "--xla_gpu_x=true --xla_dump_to=/tmp/sk-1/x"},
		{"PWD", "/home/me"},
		{"LD_LIBRARY_PATH", "/opt/hf_models/lib:/usr/lib"},
		{"TRITON_CACHE_DIR", "/data/monkey/cache"},
		{"VLLM_MODEL", "hf_transformers_of_the_team/internationalization"},
		{"AORTA_DOCKER_IMAGE", "ubuntu:22.04@sha256:0123456789abcdef"},
		{"AORTA_DOCKER_IMAGE", "nvcr.io/nvidia/pytorch:24.01-py3@sha256:01"},
		{"VLLM_FROM", "git@github.com:org/x.git@abc1234"},
		{"LD_LIBRARY_PATH", "/opt/a:/opt/b@2/lib:c@3"},
		{"NCCL_IB_HCA", "mlx5_0:1,mlx5_1:1"},
		{"VLLM_URL", "https://host/a%20b%2Fc"},
		{"TRITON_CACHE_DIR", "/data/100%/x%41"},
		{"NCCL_PAT_ENABLE", "1"},
		{"VLLM_COMMIT", "0123456789abcdef0123456789abcdef01234567"},
		{"TORCHINDUCTOR_CACHE_DIR", "/Data2/Models/Torch/Inductor/Cache/Of/M1"},
		{"XLA_PEM", "-----BEGIN CERTIFICATE-----"},
		{"VLLM_URL", "https://host/webhooks-of-the-team/x"},
		{"NCCL_IB_HCA", "=mlx5_0:1"},
		{"VLLM_SESSION_LENGTH", "4096x2"},
		{"TRITON_CACHE_DIR", "//data/cache/x"},
		{"NCCL_NUMA_PIN", "0-15,32"},
		{"NCCL_COMM_HASH", "0123456789abcdef0123456789abcdef"},
		{"VLLM_MODEL", "org/model@0123456789abcdef0123456789abcdef01234567"},
		{"VLLM_URL", "https://h/x?status=200&code=404"},
		{"VLLM_NOTE", "the key is missing and each token is embedded"},
		{"VLLM_NOTE", "password file not found"},
		{"TRITON_KERNEL", "_ZN7cutlass13device_kernelIN4cute5tupleIJNS5_1CILi128EEENS7_"},
		{"VLLM_CLASS", "TransformerEngineFP8LinearWithGroupedGemm2Stage"},
		{"VLLM_RUN", "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32"},
	};
	for (size_t i = 0; i < ASSAY_COUNT_OF(open); i++)
		CHECK(!is_secret(open[i][0], open[i][1]));
	return 0;
}

TEST(command_lines_lose_their_secrets_and_nothing_else)
{
	static const char *const rows[][2] = {
		{"python t.py --lr 0.1 --hf-token abc --max-tokens 9 --tokenizer gpt2",
		 "python t.py --lr 0.1 --hf-token *** --max-tokens 9 --tokenizer gpt2"},
		{"env WANDB_API_KEY=0123456789 x --password=pq y",
		 "env WANDB_API_KEY=*** x --password=** y"},
		{"git clone https://u:p@h/r.git", "git clone https://***@h/r.git"},
		{"curl -H 'Authorization: Bearer abc' z", "curl -H 'Authorization: Bearer ***' z"},
		{"a --x sk-proj-0123456789ab b", "a --x *** b"},
		{"curl -x me:pq@proxy:80 http://h/v1/hf_abcdefgh0123/x?sig=pq1 z",
		 "curl -x ***@proxy:80 http://h/v1/***/x?sig=*** z"},
		{"torchrun --nproc-per-node 8 t.py --auth none",
		 "torchrun --nproc-per-node 8 t.py --auth none"},
		{"curl -u me:pq1 --proxy-user=me:pq1 h", "curl -u *** --proxy-user=*** h"},
		{"curl -ume:pq1 -U 'me:pq 1' h", "curl -u*** -U '***' h"},
		{"docker run -u 1000:1000 -p 80:80 image",
		 "docker run -u 1000:1000 -p 80:80 image"},
		{"python -u train.py -p profile.json", "python -u train.py -p profile.json"},
		{"docker login -u me -p pq1 host", "docker login -u me -p *** host"},
		{"/usr/bin/sshpass -ppq1 ssh host", "/usr/bin/sshpass -p*** ssh host"},
		{"sh -c 'echo machine h login me password pq1 > .netrc'",
		 "sh -c 'echo machine h login me password *** > .netrc'"},
		{"x --password 'pq 1' --secret=pq1,pq1;pq1 y", "x --password '***' --secret=*** y"},
		{"curl -H 'Cookie: a=pq1; b=pq1' y", "curl -H 'Cookie: ***' y"},
		{"curl -H 'Authorization: Token pq1' y", "curl -H 'Authorization: Token ***' y"},
		{"x --pin 4711 --pin_memory 1 --cpu-pin 0,2 --password 123456",
		 "x --pin *** --pin_memory 1 --cpu-pin 0,2 --password ***"},
		{"wandb login 0123456789abcdef0123456789abcdef01234567", "wandb login ***"},
		{"git checkout 0123456789abcdef0123456789abcdef01234567",
		 "git checkout 0123456789abcdef0123456789abcdef01234567"},
		{"x --revision 0123456789abcdef0123456789abcdef --x 1",
		 "x --revision 0123456789abcdef0123456789abcdef --x 1"},
		{"echo pq1 | sudo -S reboot", "echo***| sudo -S reboot"},
		{"printf 'pq 1' | docker login -u me --password-stdin",
		 "printf***| docker login -u me --password-stdin"},
		{"echo start | tee log", "echo start | tee log"},
		{"aws configure set aws_secret_access_key pq1 --profile a",
		 "aws configure set aws_secret_access_key *** --profile a"},
		{"ssh-keygen -t rsa -N 'pq 1' -f x", "ssh-keygen -t rsa -N '***' -f x"},
		{"curl --cert a.pem:pq1 h", "curl --cert *** h"},
		{"psql -c \"alter user me with password 'pq1'\"",
		 "psql -c \"alter user me with password '***'\""},
		{"mysql -e \"create user me identified by 'pq1'\"",
		 "mysql -e \"create user me identified by '***'\""},
	};
	char text[160];
	for (size_t i = 0; i < ASSAY_COUNT_OF(rows); i++) {
		size_t n = strlen(rows[i][0]);
		memcpy(text, rows[i][0], n);
		n = assay_hide_secrets(text, n);
		CHECK(assay_str_is((assay_str){text, n}, rows[i][1]));
	}
	return 0;
}

TEST(secret_arguments_are_hidden_with_their_blanks)
{
	static const char command[] =
		"x\0--password\0pq 1\0--token=pq 1\0-u\0me:pq 1\0sh\0-c\0a --key pq1 b\0y";
	static const char want[] =
		"x\0--password\0***\0--token=***\0-u\0***\0sh\0-c\0a --key *** b\0y";
	char text[sizeof command];
	memcpy(text, command, sizeof text);
	CHECK(assay_hide_secrets(text, sizeof text) == sizeof want &&
	      !memcmp(text, want, sizeof want));
	return 0;
}

TEST(hiding_secrets_stays_within_any_text)
{
	static const char text[] =
		"--token\0https://a:b@c\0\"key\": \"v\"\0Bearer\0eyJ0123456789abc\0--pw";
	char copy[sizeof text];
	for (size_t n = 0; n < sizeof text; n++) {
		memcpy(copy, text, n);
		CHECK(assay_hide_secrets(copy, n) <= n);
	}
	return 0;
}
