package injection

import (
	"strings"
	"sync"
)

// meaning is a set of what a word can mean.
type meaning uint64

const (
	mIgnore  meaning = 1 << iota // in the form of an order
	mIgnoreX                     // the same in languages whose form tells an order
	mPrior                       // what was before
	mRules                       // what the reader was told
	mRule                        // a little weaker: rules, guidelines
	mNeg                         // not, never, without
	mTell                        // tell, mention
	mUntold                      // a word for "do not tell"
	mPerson                      // whom the reader works for
	mThis
	mNothing
	mYou
	mYour
	mAre
	mNow
	mMust
	mDo // run, install, open, …
	mAgent
	mRead
	mSecret
	mSecretFile
	mEnv
	mVariables
	mSend
	mSteal
	mTo // an address
	mSaid
	mQuery
	mAppend
	mReveal
	mSystem
	mNew
	mTask
	mNo
	mLimits
	mUnbound
	mFetch
	mPipe
	mShell
	mDecode
	mBefore
	mAnswer
	mApprove
	mPermission
	mAsk
	mConfirm
	mDisable
	mSafety
	mLonger
	mBound
	mVoid
	mEvery
	mTold
	mIf
	mNote
	mRequest
	mPretend
	mDrop // ignore, and nothing softer
	mEnd
	mResult // what a tool returns
	mTurn   // Human:, Assistant: at the beginning of a line
	mMarker // of the formats in which models are spoken to
	mLead   // an order may follow
	mTalk   // whoever writes so talks about such texts
)

// vocabulary is the list of words, without accents and in lower case.
var vocabulary = map[meaning]string{
	mIgnore:  "ignore disregard forget override bypass skip discard",
	mIgnoreX: "ignoriere ignoriert vergiss missachte oublie oubliez ignorez ignora ignorad olvida olvide esqueca desconsidere dimentica игнорируй игнорируйте забудь забудьте проигнорируй negeer vergeet zignoruj ignoruj zapomnij ignorera 忽略 忽視 忽视 无视 無視 忘记 忘記 무시하고 무시해 무시하세요 무시하십시오 잊어 yok",
	mPrior: "previous prior above earlier preceding former foregoing all other original vorherigen bisherigen vorigen obigen fruheren precedentes precedente anteriores previas previos precedenti anterior вышеуказанные предыдущие прежние прошлые vorige voorgaande eerdere poprzednie wczesniejsze tidigare " +
		"之前 以上 先前 上述 此前 前面 以前 これまで 上記 前の 이전 위의 앞의 지금까지 onceki",
	mRules:      "instruction instructions prompt prompts directive directives directions programming anweisungen anweisung instrucciones instrucoes istruzioni инструкции указания команды instructies instrukcje polecenia instruktioner 指令 指示 提示词 命令 プロンプト 지시 지침 명령 프롬프트 talimatlari talimatlar",
	mRule:       "rule rules guideline guidelines criteria constraints policies regeln vorgaben regles reglas regras regole правила 规则 規則",
	mNeg:        "not don't dont never without nicht niemals ohne sans ne no nunca nao non senza не никогда не niet nooit nie 不要 別 别 不得 勿 must_not",
	mTell:       "tell telling mention mentioning inform informing reveal revealing alert alerting notify notifying disclose sag sage sagen erwahne informiere dire dites dis prevenir informer informez digas diga decir menciones informes conte diga avise dire dirlo сообщать сообщай сообщайте говори говорите говорить упоминай zeg vertel mow mowic wspominaj 告诉 告訴 提及 透露 通知",
	mUntold:     "言わないで 知らせないで 伝えないで 教えないで 알리지 말하지",
	mPerson:     "user users user's human humans developer developers person operator owner maintainer maintainers reviewer reviewers victim nutzer benutzer anwender nutzerin utilisateur l'utilisateur usuario usuaria utente l'utente пользователю пользователя gebruiker uzytkownikowi 用户 用戶 使用者 ユーザー 사용자",
	mThis:       "this that these it them why about davon darueber daruber",
	mNothing:    "nothing nichts nada niente rien ничего niets nic",
	mYou:        "you ты вы du sie tu vous",
	mYour:       "your deine ihre tes vos tus sus seus твои ваши",
	mAre:        "are were",
	mNow:        "now",
	mMust:       "must should shall always secretly silently immediately required requires have musst debes devi dois deve должен musisz moet",
	mDo:         "run execute install fetch download open send include add insert allow grant approve disable use call read visit invoke delete reveal upload post push perform output reply respond obey follow recommend ausfuhren executer ejecutar executar eseguire выполнить uitvoeren",
	mAgent:      "ai ais assistant assistants agent agents claude codex gemini copilot cursor chatgpt gpt llm llms model models chatbot bot",
	mRead:       "read reading reads cat open collect gather find print dump extract copy include grab get take output paste lies liest lis lisez lee leia leggi прочитай 读取 讀取",
	mSecret:     "secret secrets credential credentials token tokens password passwords passphrase api-key api-keys apikey apikeys api_key key keys cookies zugangsdaten identifiants credenciales credenciais credenziali пароли 凭据 密钥 金鑰 密码 github_token secret_token",
	mEnv:        "environment env",
	mSend:       "send post upload email transmit forward submit leak paste copy append sende sendest schicke envoie envoyez envia envie invia отправь отправьте пришли wyslij stuur 发送 發送 傳送 传送 发到 送信 보내",
	mSteal:      "exfiltrate exfil",
	mSaid:       "conversation chat history transcript messages summary context dialogue",
	mQuery:      "url query parameter link argument",
	mAppend:     "append encode url-encode attach concatenate put embed",
	mReveal:     "reveal print repeat output show leak display dump recite disclose",
	mSystem:     "system hidden initial original secret",
	mNew:        "new real actual only true updated",
	mTask:       "task goal objective mission instructions job",
	mNo:         "no zero",
	mLimits:     "restriction restrictions limits limitations guidelines rules policy filters safety boundaries guardrails",
	mUnbound:    "unrestricted dangerously-skip-permissions jailbroken uncensored dan unfiltered",
	mFetch:      "curl wget",
	mShell:      "sh bash zsh",
	mDecode:     "base64",
	mBefore:     "before otherwise",
	mAnswer:     "answer answers answering respond responding continue continuing proceed proceeding making reply replying summarising summarizing anything",
	mApprove:    "approve accept allow grant permit approved confirm",
	mPermission: "permission permissions prompt request requests commands command",
	mAsk:        "asking ask",
	mConfirm:    "confirmation permission approval confirming",
	mDisable:    "disable deactivate suspend",
	mSafety:     "sandbox safety guardrails protections",
	mLonger:     "longer",
	mBound:      "bound restricted limited apply assistant constrained",
	mVoid:       "void suspended updated overridden revoked superseded cancelled replaced changed",
	mEvery:      "everything anything all what whatever every",
	mTold:       "told given received learned wanted asked",
	mIf:         "if",
	mNote:       "note attention notice hey dear message",
	mRequest:    "request question task wishes criteria",
	mPretend:    "pretend imagine roleplay",
	mDrop:       "ignore disregard forget",
	mEnd:        "end",
	mResult:     "output result results document page webpage data input",
	mLead:       "please now must should and then you just immediately also so will shall kindly instead always first ok okay hello hi well alright sure great actually oh btw important attention urgent",
	mTalk:       "injection injections jailbreak jailbreaks attack attacks attacker attackers payload payloads malicious phrase phrases blocked suspicious adversarial filter filters detector scanner phishing",
}

// Words that have no spaces around them are looked for at each character.
const longestUnspaced = 8

// words is the vocabulary by word.
var words = sync.OnceValue(func() map[string]meaning {
	out := map[string]meaning{}
	for m, list := range vocabulary {
		for w := range strings.FieldsSeq(list) {
			out[w] |= m
		}
	}
	out["variables"] |= mVariables
	out["vars"] |= mVariables
	return out
})
