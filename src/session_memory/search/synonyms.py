"""Synonyms: groups of words that developers use for the same thing.

With them a question finds sessions that use other words: "How did we ask for consent" finds a
session about a confirmation dialog. A word may be in several groups. The groups are about software
in general, never about one project. A synonym counts less than the word itself, so a wrong one
changes little.
"""

from functools import cache

from session_memory.search.recall_terms import BEGINNING
from session_memory.search.stems import stem

_GROUPS = """
    add create introduce implement build new / remove delete drop erase purge discard eliminate
    strip / clean cleanup tidy prune leftover stale obsolete / clear reset empty flush wipe / fix
    repair resolve solve correct mend patch cure remedy remediate / bug defect issue problem error
    fault / crash exception panic abort traceback segfault / fail failure broken break / stop
    prevent avoid block forbid disallow suppress / refuse reject deny decline block disallow /
    allow permit enable let support grant / disable off deactivate / hide conceal invisible
    collapse omit / show display render present visible view print / reveal expose unhide expand /
    change modify alter update edit adjust / rename move relocate / replace swap substitute switch
    exchange migrate / upgrade bump update / downgrade rollback revert undo restore / merge
    combine consolidate unify join / split separate divide break extract decompose / move extract
    relocate transfer / copy clone duplicate replicate / duplicate dedupe deduplicate repeated
    redundant twice / shorten truncate abbreviate trim cut shrink compact / reduce decrease lower
    cut shrink minimize less fewer smaller / increase raise grow enlarge extend bigger larger more
    higher / limit cap maximum max restrict throttle bound ceiling / minimum min least floor /
    batch chunk group bulk / group cluster aggregate bundle category / sort order rank arrange /
    filter narrow exclude / skip ignore exclude bypass omit / find search locate lookup / detect
    discover identify recognize notice / check verify validate confirm ensure inspect / validate
    schema constraint / test spec suite / review inspect audit examine / measure benchmark metric
    evaluate assess score / count number total amount quantity / compare diff difference contrast
    / diff patch / speed fast quick performance optimize accelerate latency / slow sluggish lag
    performance / hang freeze stuck block deadlock unresponsive / wait delay sleep pause timeout /
    timeout deadline expire / retry again repeat rerun reattempt / rerun restart relaunch / flood
    hammer storm spam excessive overload / loop infinite endless recursion / poll polling interval
    periodic / start launch begin boot run startup spawn / stop end finish terminate kill shutdown
    quit exit / run execute perform launch invoke / call invoke request / ask prompt request
    question / confirm confirmation consent approve approval agree accept acknowledge / permission
    authorization access privilege right / permission approval / login signin authenticate auth
    credential / logout signout / authenticate authentication auth credential token login / secret
    credential password token key / sign signature codesign notarize / encrypt encryption cipher
    crypto / hash checksum fingerprint digest / certificate cert tls ssl https / user person
    people account member customer / owner author creator /
    admin administrator / team organization org tenant workspace / role permission / settings
    config configuration option preference setup / environment env variable / flag option switch
    argument parameter / argument parameter param arg / override customize / hosted cloud remote
    saas production / local offline / deploy deployment release publish ship rollout / release
    version tag publish / changelog release notes / install setup installation / uninstall remove
    / dependency package library module / upgrade dependency bump / build compile bundle / compile
    compiler transpile / binary executable / script command / command cmd subcommand / terminal
    console shell cli tty / pipeline workflow ci action job / job task work / task todo item
    ticket / todo checklist list / schedule cron timer periodic / queue backlog pending / worker
    thread process / concurrent parallel simultaneous async / sequential serial ordered / lock
    mutex race concurrency / race condition concurrency / memory leak ram heap / disk storage
    space / size length large big huge gigantic giant enormous exceed / small tiny little light
    lightweight basic minor / cheap cheaper inexpensive lightweight cost / cost price expense
    spend billing budget / price pricing rate / money dollar cost / time duration timing elapsed /
    date time timestamp / timezone utc / live realtime streaming / stream streaming sse / progress
    status state / status indicator badge / notify notification alert toast message / message
    notice text / warn warning caution / log logging trace / logs output / debug diagnose
    troubleshoot investigate / investigate analyze research explore study / analysis analyze
    evaluate / explain describe document / document documentation docs readme guide / comment
    annotation note / translate translation localize i18n locale language / plan planning design
    proposal / design architecture structure / refactor restructure reorganize rewrite cleanup /
    rewrite rework redo overhaul redesign / improve enhance better polish / simplify simple reduce
    / prototype draft experiment / feature capability functionality support / template boilerplate
    scaffold / generate create produce / init initialize bootstrap setup / ui interface frontend
    gui / frontend client browser web ui / backend server api / server backend host daemon service
    / endpoint route api url path / api endpoint rest / route routing router navigation / redirect
    forward / url link address href / link hyperlink url / request call fetch / answer reply
    respond response / send transmit submit post deliver / receive get fetch / fetch load retrieve
    download get pull / load import read open / upload import / import load ingest / export save
    dump download / save store persist write keep / keep preserve retain persist maintain remember
    / remember cache persist memorize / cache memoize stale / store storage database persist /
    database db sql table / migration migrate schema / row line entry record / field property
    attribute / record entry item / query search select / index catalog / json format / parse
    parser parsing decode / serialize encode format / format formatter formatting style / lint
    linter linting / typecheck type typing / file document / folder directory dir / path location
    / repository repo project codebase / branch ref / commit changeset checkin / commits history /
    stage staged staging / stash shelve / uncommitted unstaged dirty working messy / conflict
    clash collision / pull pr merge request / rebase squash / push upload / hook precommit husky /
    checkout switch / worktree checkout / click press tap / clickable link hyperlink / key
    keyboard shortcut hotkey keybinding / keyboard modifier ctrl cmd command / menu dropdown
    select selector picker / selector picker dropdown select chooser combobox / input field
    textbox form entry / modal dialog popup overlay window / tooltip hint hover / panel sidebar
    pane drawer section / sidebar navigation drawer / toolbar header bar / header title heading /
    title heading name label caption / label caption text tag / tag label badge chip / badge chip
    pill counter / tab page / screen page display / view viewer page screen panel / card tile box
    / icon symbol glyph image logo / image picture photo screenshot icon / avatar picture / color
    colour theme hue / colored coloured highlight / purple violet / dark theme night / theme style
    appearance skin / style css look appearance / layout alignment position arrange / align
    alignment position layout / position place location offset / indicator marker cursor highlight
    / underline indicator / width size / height size overflow / overflow exceed scroll clip grow /
    scroll scrolling scrollbar / resize size dimension / spacing margin padding gap / animate
    animation transition / spinner loading loader progress / refresh reload update rerender /
    reload refresh restart / rerender render refresh / flicker flash blink disappear / disappear
    vanish lost missing gone / missing absent lost undefined null notfound / null undefined none
    nil empty / wrong incorrect invalid bad / invalid malformed bad illegal / unused dead obsolete
    / deprecated obsolete old legacy / old legacy previous former / new latest fresh recent /
    latest newest recent current / current active / first initial / last final / next following /
    automatic auto automatically / manual manually hand / select choose pick / drag drop / connect
    connection attach / connection socket websocket link / disconnect reconnect drop / reconnect
    reopen connection / network http connection / proxy gateway / port address / webhook callback
    / event listener handler / callback handler hook / subscribe subscription listen / publish
    emit send / sync synchronize synchronise / session conversation chat / chat conversation
    message dialog / conversation transcript chat thread / history log past / agent assistant bot
    ai / ai llm model / prompt instruction / token usage / instruction rule guideline /
    rule policy guideline / context background / evaluate evaluation assess score grade /
    evaluator grader judge checker / score rating grade points / severity priority importance /
    priority importance urgent / issue finding problem ticket / report summary result / result
    outcome output / summary summarize overview digest / overview dashboard summary / statistics
    stats metrics figures / chart graph plot diagram / graph tree / tree hierarchy nested / list
    listing / suggestion autocomplete completion recommend / mention reference / reference ref
    pointer link / variable constant / function method procedure routine / class type struct /
    interface contract / component widget element / provider supplier vendor / plugin extension
    addon / host hosting server / container docker image / kubernetes k8s cluster / terraform
    infrastructure iac / cloud aws gcp azure / machine host computer / mac macos darwin apple osx
    / windows win32 / linux ubuntu debian / phone mobile android ios / browser chrome firefox
    safari / payment billing checkout / invoice bill receipt / order purchase / product item /
    test unit integration e2e / fixture sample / coverage covered / flaky unstable intermittent /
    snapshot golden / assertion expect / pass success green / sandbox isolate isolation / isolate
    separate / safe safety secure / security vulnerability secure / vulnerability cve exploit /
    regex pattern / pattern match / match equal / wildcard glob pattern / encoding utf8 unicode
    charset / whitespace indent space / newline eol line / multiple several many multi / single
    one once / all every whole entire / each per / unblock unstick / tune calibrate adjust / expire
    expiry ttl / quota limit /
    throttle ratelimit / backup restore snapshot / archive old / recover recovery restore resume /
    continue resume proceed / pause suspend / cancel abort stop / onboarding welcome / feedback
    rating / pagination paging page / sorting order / abbreviation acronym short / accessible
    accessibility a11y aria / activate enable turn / alias nickname shortcut / anonymous guest
    unauthenticated / append add attach / array list collection / attach link connect bind /
    attachment file upload / audio sound voice / background daemon async / balance fund credit /
    banner header notice / barcode qr code / blog post article / blurry sharp resolution /
    boundary edge limit / bounce return reject / breakpoint debug stop / bundle package archive
    zip / calendar schedule date / camera photo scan / carousel slider slideshow / cell grid table
    / character letter symbol / checkbox toggle switch / child nested sub / choice option
    alternative / clipboard copy paste / clock time timer / close shut dismiss / column field
    attribute / compress zip gzip minify / constant literal hardcoded / contributor developer
    author / convert transform translate cast / cookie session storage / corrupt damaged broken /
    country region locale / coupon discount voucher promo / crawl scrape spider / cross origin
    cors / currency money dollar euro / customer client buyer / cursor caret pointer / custom own
    bespoke / cycle circular loop / dataset data corpus / decode parse decrypt / decorate wrap /
    deep nested recursive / demo example sample showcase / deny refuse forbid reject / detail
    information info / device hardware phone / disk drive volume / domain host dns / double
    duplicate twice / draft unfinished wip / edge corner boundary / editor ide vscode / effect
    side impact / element node component / embed include inline / enum constant choice / escape
    quote sanitize / estimate predict forecast / expand open unfold / expression formula /
    external outside thirdparty / fallback default backup / figure picture chart / finish complete
    done end / firewall network block / firmware embedded device / flow process workflow / focus
    active highlight / font typeface text / fork branch copy / game play player / gpu cuda
    graphics / guard protect check / guest anonymous visitor / guide tutorial howto / hardcode
    constant literal / header top / health alive liveness heartbeat / home landing start /
    homepage landing main / idle inactive unused / include contain embed / inherit extend derive /
    insert add put / integrate integration connect hook / inventory stock / invite invitation join
    / iterate loop walk / leaderboard ranking score / license copyright / listen subscribe watch /
    mail email smtp / map mapping dictionary / markdown md / math formula arithmetic / maximize
    fullscreen enlarge / media image video audio / minify compress shrink / mirror copy replica /
    misspell typo spelling / mode state / monitor watch observe / mount attach / mouse pointer
    click / multiply duplicate / mute silence quiet / navigate route / neural network model /
    nightly daily cron / noise noisy spurious / normalize canonical standard / offline
    disconnected / offset position shift / oncall alert incident / outage incident downtime /
    overlap intersect collide / overwrite replace clobber / paint draw render / parent ancestor /
    part piece section / permission chmod access / pin lock fix / pixel point / placeholder stub
    dummy / player user / plural singular / portable crossplatform / prefix suffix / preview
    thumbnail / print output log / privacy gdpr personal / probe check health / process handle /
    profile account user / profile benchmark performance / protect guard secure / protocol
    transport / push send / quiet silent mute verbose / random shuffle seed / range interval span
    / raw unprocessed original / readonly immutable / rearrange reorder sort / recent latest last
    / recording capture / region zone area / register signup enroll / registration signup
    onboarding / regression broke / relative absolute / reminder notification / remote server /
    repeat again twice / reproduce repro replicate / reset restore default / resource asset /
    restart reboot / restrict limit constrain / return give / reusable shared generic common /
    reverse backward invert / rights permission / rotate turn / round precision decimal / scale
    grow resize / scan search inspect / scene level / scope visibility / screenshot capture image
    / seed fixture initial / sender from / sentence text / sequence order series / shape form /
    share shared common / shell bash terminal / shop store cart / signup register onboarding /
    silence mute suppress / similar alike same / skeleton placeholder loading / smooth animation /
    source origin / spam junk / special exception / speech voice audio / stack trace / stage
    environment / standalone independent / step stage phase / sticky fixed pinned / stop halt /
    strict enforce / subscription plan billing / subtitle caption / suffix ending / sync update /
    tail end / target goal destination / temperature setting / temporary temp tmp / text string
    copy / touch tap / trace track / track monitor follow / train fit learn / transaction atomic /
    transfer move send / trigger fire start / trim cut strip / truncate cut clip / turn toggle /
    type kind category / unique distinct / unit measure / unknown unrecognized / unpack extract
    unzip / unsaved dirty / upstream remote origin / usage consumption / vector embedding /
    verbose debug detail / video movie recording / virtual venv / visit open / wallet balance /
    warm cache / watermark stamp / weather forecast / weight importance / wizard assistant step /
    wording text copy phrase / worker job / wrap enclose / wrapper adapter shim / yaml yml config
    / zoom scale / early premature soon before / late delayed overdue slow / weird strange odd
    unexpected unusual / ugly pretty polish beautify / same identical equal duplicate / different
    distinct differ mismatch / mismatch inconsistent disagree differ / right correct proper /
    garbled mojibake encoding unreadable / unreadable illegible readable legible / orphan dangling
    leftover stray unused / stale outdated obsolete expired / needless unnecessary redundant
    superfluous / mandatory required must obligatory / optional voluntary / required necessary
    needed mandatory / infer guess deduce detect / forget lose drop / lose lost drop dropped
    missing / dropped removed lost deleted / swallow suppress ignore hide / complain warn error /
    blame annotate / leak escape expose / choke fail hang / squash combine collapse / vendor
    bundle embed / slim shrink lean reduce / crop cut trim / capitalize uppercase lowercase case /
    indent whitespace spacing / pad padding margin / center align middle / highlight emphasize
    mark accent / dim fade gray grey / grey gray disabled / notify remind alert / postpone defer
    delay schedule / defer lazy delay postpone / lazy deferred ondemand / eager immediate upfront
    preload / preload prefetch warm inject / inject preload insert / rewind undo revert / fork
    clone branch / cherrypick backport pick / ship release deliver / deliver send ship / trust
    verify / ban block forbid blacklist / blacklist blocklist denylist block / whitelist allowlist
    allow permit / allowlist whitelist exempt / exempt exclude skip whitelist / claim assign take
    pick / assign allocate claim give / allocate allocation memory / allocation memory heap gc /
    footprint memory size / consume use spend / waste unnecessary spend / ticket issue story bug /
    todo task checklist item / app application program tool / tool utility program / utility
    helper tool / helper utility assistant / program application script / control button widget /
    control escape character / escape sanitize ansi / ansi color escape terminal / sanitize clean
    strip escape / lookup search find query / form template input / template form pattern / date
    update current / outdated update stale / reorganize restructure rearrange layout flatten /
    flatten nest layout structure / restructure reorganize layout refactor / layout structure
    organize / organize arrange sort group / texting message sms chat / sms message text / browse
    search surf visit web / internet web online network / song music audio track / interactive
    notebook repl prompt / notebook jupyter ipynb / repl interactive shell / phase step milestone
    / milestone release goal / goal objective target aim / purpose reason goal / reason cause why
    / cause reason root / symptom problem sign / hint tip suggestion advice / advice recommend
    suggest / principle guideline rule constitution / guideline rule standard principle convention
    / constitution principle charter / quality standard / lint quality style / compliance standard
    rule / audit compliance log / proof evidence verify / explain clarify describe / describe
    description document / description text summary / phrase wording sentence / typo misspelling
    spelling / grammar spelling wording / german french spanish chinese japanese translation /
    native platform / platform system os / blueprint design plan / roadmap plan milestone /
    requirement spec specification need / specification spec document / proposal plan suggestion
    rfc / draft proposal sketch / sketch draft outline / outline draft structure summary / brief
    short summary / concise brief short terse / verbose long noisy detailed / detailed thorough
    verbose / thorough detailed deep comprehensive / comprehensive complete full thorough /
    complete full whole entire / partial incomplete part / incomplete partial missing unfinished /
    unfinished incomplete draft pending / pending waiting queued open / open unresolved pending /
    resolved fixed closed / closed finished done / begin start first / shutdown stop close
    terminate / hard force forced / force forced override must / gentle graceful soft / graceful
    clean gentle / abrupt sudden force / loud noisy / noisy verbose spam / hidden invisible /
    secret hidden private / private internal hidden / public open exposed / expose public reveal /
    visible shown displayed / appear show display visible / blank empty white / white light blank
    / black dark / light bright / round circle / square box rectangle / box container card /
    container wrapper box / outer outside external / inner inside internal / inside within inner /
    above top over / below bottom under / bottom footer below / left right side / side sidebar
    edge / edge border side / border frame outline line / arrow chevron pointer / chevron arrow
    expand / dot bullet point / bullet list dot / favorite star bookmark like / like favorite
    similar / send share post / post publish send / publish post release / announce publish notify
    / announcement release news / news update announcement / oldest first earliest / reorder sort
    order drag / arbitrary any random / any every all / threshold limit cutoff / maximum limit
    most / average mean / sum total / count tally / percent percentage ratio share / ratio percent
    rate / rate speed frequency / frequency rate often / frequent common often / rare uncommon /
    common shared usual / usual normal default / normal regular usual / regular normal periodic /
    daily day nightly / weekly week / monthly month / year annual / hour time / minute time /
    second time / millisecond ms time / deadline due timeout / expire expiry invalid / renew
    refresh extend / refresh renew reload / extend extension lengthen / lengthen extend longer /
    shrink smaller compact / compact small dense / sparse thin / thin light / thick bold / bold
    strong heavy / expensive costly heavy slow / free cost gratis / paid billing premium / premium
    paid tier / tier plan level / level tier rank / rank order level / winner best / best top /
    worst bottom / regress regression worse / regression bug break / broke broken failing /
    failing failed broken red / red failing error / green passing success / success ok pass /
    trouble problem issue / blocker block obstacle / blocked stuck waiting / stuck hang blocked
    frozen / unresponsive hang frozen / responsive mobile adaptive / dynamic runtime / runtime
    execution / execution run / fixed static constant / mutable change / editable edit writable /
    interpret parse read / understand parse / learn study / teach train learn / recall remember
    memory search / replay rerun repeat / simulate emulate mock fake / fake mock dummy stub /
    dummy fake placeholder / illustrate show / demonstrate demo show / demo demonstrate showcase /
    tour guide walkthrough / walkthrough guide tutorial / manual guide docs / changelog history /
    past previous history / previous earlier last / earlier previous before / later next
    afterwards / eventually later / immediately instant now / instant immediate fast / fast quick
    rapid / accelerate faster / faster speed optimize / tune optimize adjust / adjust tweak change
    / switch change toggle / flip toggle invert / invert reverse flip / mirror reflect copy /
    reflect mirror show
"""
# The first word of each group is an everyday word, the others are what developers call it. They go
# one way only: "agent" is not also "machine".
_EVERYDAY = """
    alter change modify / altered change diff edit / chop split cut divide batch / slice split
    chunk part / portion part chunk batch piece / lift remove allow drop / restriction limit
    constraint guard / throw remove discard drop / rid remove delete / repair fix remediate /
    mark score grade rating / note comment remark / guide instruction docs manual / handbook
    docs guide manual / easy simple basic light / hard difficult complex / site website web page
    / website site web homepage / jump open navigate go scroll / entry item row record / die
    crash hang abort / ages slow long / forever endless hang slow / verb command subcommand /
    narrow width small / wide width large / tint color theme / paint color render / counter
    count badge number / sight visible view / glance overview summary / gone missing removed /
    vanish disappear missing / come appear show / crooked align layout / messy jumbled dirty
    unformatted / jumble mix misalign layout / damaged corrupt broken invalid / wreck break
    corrupt / picture image icon logo / drawing image diagram sketch / signpost link hint /
    trusted signed verified / untrusted unsigned / apple macos mac darwin / computer machine
    host local / one local / newest latest current / trunk main master branch / twin duplicate
    copy / identical same duplicate / swap replace exchange / trade exchange swap / wrong
    incorrect bug / odd strange weird unexpected / annoying noisy spam / unneeded unused
    unnecessary / leave keep ignore skip / forbid deny block prevent reject / gate guard check
    block / warn warning alert notice confirm / consent confirm approve / spend cost pay budget
    / save cheap reduce persist / thrifty cheap cost / costly expensive cost / fee price cost /
    learn discover find / spot detect find notice / trace investigate debug log / track follow
    trace monitor / reason cause why / begin start created / begun start created / moment time
    timestamp / clock time timestamp / old stale outdated previous / young new recent / thread
    conversation discussion chat / talk chat conversation communicate / dialogue conversation
    chat / author user writer / machine agent ai host / assistant agent ai / robot bot agent /
    helper assistant subagent / colleague teammate contributor / crowd users people / visitor
    user guest client / newcomer new user onboarding welcome / beginner new user onboarding
    tutorial / publish push release deploy / announce publish release / share publish export /
    hand pass give / forward pass propagate send / propagate pass forward thread / carry pass
    propagate / inherit pass propagate / remember persist store cache / forget clear delete lose
    / wipe delete clear clean / scrub sanitize redact clean / mask redact hide / redact mask
    hide sanitize / leak expose / conceal hide / unfold expand open / fold collapse close /
    unroll expand / shrink reduce smaller compact / tiny small compact / enlarge increase bigger
    / beside next alongside adjacent / alongside beside with / instead replace alternative /
    alternative option instead choice / choice option select selector / picked selected chosen /
    basket selection cart / pile list queue / heap memory list / portion chunk batch / dozen
    many multiple / couple pair two / pair two colocated / twice duplicate double / again rerun
    repeat retry / afterwards after later / beforehand before first / meanwhile while during
    concurrent / sudden unexpected crash / quiet silent mute / silently silent swallow ignore /
    loud verbose error / honest accurate correct / exact accurate precise / fuzzy approximate
    similar / rough approximate draft / polish improve refine style / refine improve adjust /
    tidy clean cleanup organize / neat clean tidy / organise organize group sort structure /
    meaning semantic purpose / semantic meaning / kind type category / sort kind type order /
    flavor kind type variant / variant kind alternative version / edition version release /
    digit number / figure number metric / sum total aggregate / mean average / peak maximum /
    floor minimum / ceiling limit maximum / budget limit cost / allowance limit policy
    permission / allow permit policy whitelist / policy rule permission allow / law rule policy
    / governance policy rule constitution / history log past commits git / past history previous
    / undo revert rollback / redo repeat again / rewind revert back / tear remove close /
    teardown cleanup shutdown close / spin loading spinner / spinner loading progress / wheel
    spinner loading / blank empty missing / hole gap missing / gap space missing spacing / crack
    bug leak / glitch bug flicker / hiccup error retry / outage failure down / survive handle
    recover tolerate / tolerate handle ignore / cope handle deal / deal handle / handle process
    manage / manage handle control / oversee monitor manage / supervise monitor manage / steer
    control direct / direct route control / socket websocket connection / wire connect integrate
    / hook connect integrate callback / plug connect integrate plugin / talk communicate request
    api / speak communicate / contact request call / reach connect access / unreachable offline
    down timeout / password credential secret auth / signed login auth signin / client cli app
    frontend / tool cli program utility / terminal cli shell / phone mobile device / screen
    display page view / display show screen / layout arrangement design / arrangement layout
    order / column row table grid / grid table layout / flat list plain / nested tree hierarchy
    / folder directory tree / tree folder hierarchy / leaf node item / root top main / top
    header main / bottom footer end / edge border boundary / frame border box container / trace
    log / console log terminal output / output log print result / print output show log / report
    result output summary / verify check confirm test / prove verify test evidence / try test
    attempt experiment / attempt try retry / experiment test try prototype / example sample demo
    fixture / pretend mock fake simulate / double mock fake stub / imitate mock simulate /
    rehearse test dry
"""


def synonyms(term: str) -> frozenset[str]:
    """Return the stems of all synonyms of the words with this stem."""
    found: set[str] = set()
    # Only a few words are stemmed for a question, because all of them would take too long.
    for word, groups in _by_beginning().get(term[:BEGINNING], ()):
        if stem(word) == term:
            found.update(stem(other) for group in groups for other in group)
    return frozenset(found - {term})


def word_of(term: str) -> str:
    """Return a word with this stem, to show it; the stem itself if no group has one."""
    words = (word for word, _ in _by_beginning().get(term[:BEGINNING], ()))
    return next((word for word in words if stem(word) == term), term)


@cache
def _by_beginning() -> dict[str, list[tuple[str, list[list[str]]]]]:
    """Return the words of all groups by their first letters, each with the groups it is in."""
    groups_of: dict[str, list[list[str]]] = {}
    for group in (text.split() for text in _GROUPS.split("/")):
        for word in group:
            groups_of.setdefault(word, []).append(group)
    for word, *names in (text.split() for text in _EVERYDAY.split("/")):
        groups_of.setdefault(word, []).append(names)
    found: dict[str, list[tuple[str, list[list[str]]]]] = {}
    for word, groups in groups_of.items():
        found.setdefault(word[:BEGINNING], []).append((word, groups))
    return found
