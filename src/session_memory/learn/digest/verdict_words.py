"""Recognize short judgements about an agent's work (praise, complaint, dismissal), in about fifteen
languages.

A text is praise only if it consists of known words. So a request that begins with thanks is no
praise, and neither is a text with a negation.
"""

import re

# Each of these praises the result by itself.
_GOOD = """
    ok okay okey k fine good great nice cool perfect perfectly awesome excellent works worked fixed
    solved done lgtm amazing brilliant lovely wow sweet neat exactly
    super perfekt toll klasse prima top gut passt läuft funktioniert geht bestens genial spitze
    wunderbar stimmt erledigt
    parfait génial nickel bravo marche fonctionne bien bon excellent réglé
    perfecto genial funciona funcionó excelente vale listo bueno estupendo
    perfetto ottimo funziona bene bravo fantastico
    perfeito ótimo otimo funciona funcionou show bom beleza
    goed werkt uitstekend
    отлично супер работает заработало хорошо класс идеально прекрасно ок готово круто
    чудово працює добре super otlichno rabotaet
    świetnie działa dobrze idealnie zajebiście
    süper harika mükemmel çalışıyor tamam güzel
    bra fungerar virker fungerer perfekt
"""
_THANKS = """
    thanks thank thx ty cheers tx danke dank dankeschön merci gracias grazie obrigado obrigada valeu
    bedankt dankjewel спасибо спс благодарю spasibo дякую dzięki dzieki dziękuję dziekuje
    teşekkürler tesekkurler sağol tack tak takk kiitos děkuji arigato arigatou xiexie
"""
# These words may stand beside words of praise.
_FILLERS = """
    it its it's that that's this everything all now you so much very really a lot again man mate job
    work one looks look is are for the and yes yep yeah ah oh well
    das es ist jetzt alles sehr vielen viele dir ihnen und ja schön so klar
    ça ca c'est est tout maintenant beaucoup très et oui marche à
    muy muchas muchos todo ahora y sí si ya está esta
    mille molto tutto ora adesso e sì è va
    muito tudo agora sim está
    alles nu het is heel
    большое все всё теперь да это очень и
    bardzo wszystko teraz tak to jest çok her şey şimdi tack så mycket nu det
"""
GOOD, THANKS = frozenset(_GOOD.split()), frozenset(_THANKS.split())
_KNOWN = GOOD | THANKS | frozenset(_FILLERS.split())
_MOST_WORDS = 9
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_PICTURES = re.compile("[👍👌🎉✅🙏💯🚀🥳😀😃😄😊🤩🔥✔❤🙌👏]")

_GOOD_EAST = (
    "完美|很好|非常好|太好了|太棒了|很棒|真棒|不错|好的|好了|可以了|可以|搞定了?|没问题了?|成功了?|正常了|"
    "解决了|厉害|点赞|赞|行了|对了|好|完璧|いいね|いいです|良い|よい|素晴らしい|すばらしい|最高|バッチリ|"
    "ばっちり|動いた|動きました|動作しました|できた|できました|直った|直りました|大丈夫|了解|オッケー|"
    "완벽|좋아|좋네|좋습니다|잘됐|잘 돼|잘돼|됐다|됐어|작동해|작동합니다|훌륭|최고"
)
_THANKS_EAST = (
    "非常感谢|多谢|谢谢你?|感谢|谢了|辛苦了|ありがとうございました|ありがとうございます|ありがとう|"
    "助かりました|助かった|感謝|お疲れ様(?:です|でした)?|감사합니다|감사해요|고마워요?|고맙습니다|수고"
)
_PRAISE_EAST = re.compile(
    rf"(?:(?:{_GOOD_EAST}|{_THANKS_EAST}|ok)(?:[了啊呀哦吧呢的ねよ]|です|ます|해|해요|합니다|요|네)*"
    r"[\s\W]*){1,5}",
    re.IGNORECASE,
)
_COMPLAINT = re.compile(
    r"""\b(?: (?:geht|funktioniert|klappt|läuft|stimmt)\s(?:\w+\s){0,3}nicht
      | immer\snoch\s(?:\w+\s){0,3}(?:fehler|kaputt|falsch|nicht)
      | ne\s(?:marche|fonctionne)\s(?:\w+\s)?pas
      | (?:ça|ca)\s(?:marche|fonctionne)\s(?:\w+\s)?pas | toujours\s(?:pas|cassé|la\smême\serreur)
      | no\s(?:me\s)?(?:funciona|va|sirve) | sigue\s(?:fallando|sin|igual|el\smismo)
      | (?:ancora\s)?non\s(?:funziona|va) | (?:ainda\s)?não\s(?:funciona|funcionou)
      | (?:все\sеще\s|всё\sещё\s|опять\s)?не\s(?:работает|помогло|получилось) | nie\sdziała
      | werkt\s(?:\w+\s)?niet | çalışmıyor )\b
    | 还是(?:不|报错|有问题|失败|一样) | 不(?:行|对|工作|起作用|生效)(?:[，。！!,.\s]|\Z)
    | 没(?:有用|用|生效|效果) | 错了 | 依然(?:不|报错|失败)
    | 動か(?:ない|ません) | 動きません | 直って(?:ない|いない|いません)
    | まだ(?:エラー|だめ|ダメ|動) | うまくいか
    | 안\s?(?:돼|됩니다|되네) | 작동하지\s?않 | 여전히\s?(?:안|오류|에러)""",
    re.IGNORECASE | re.VERBOSE,
)
_DISMISSAL = re.compile(
    r"""[\W_]* (?: (?:ach\s)?vergiss\s(?:es|das) | lass\s(?:es|das)(?:\s(?:sein|gut\ssein))?
      | abbrechen | brich\sab | schon\sgut | laisse\stomber | oublie(?:\sça)? | annule
      | olvídalo | olvidalo
      | déjalo | dejalo | cancela(?:lo)? | lascia\s(?:perdere|stare) | annulla
      | deixa\s(?:pra\slá|quieto) | esquece | забудь | отмена | не\sнадо | отбой
      | zapomnij | nieważne | laat\smaar | boşver
      | 算了 | 不用了 | 别做了 | 不做了 | 取消吧? | 停下?吧?
      | もういい(?:です)? | やめて(?:ください)? | キャンセル
      | 中止 | 忘れて(?:ください)? | 됐어 | 취소(?:해)? | 그만(?:해)? ) [\W_]*""",
    re.IGNORECASE | re.VERBOSE,
)
_LEAVING = re.compile(
    r"\W*(?::?q(?:uit)?!?|exit|bye|tschüss|ciao|再见|さようなら)\W*", re.IGNORECASE
)


def is_praise(text: str) -> bool:
    """Whether the text consists of words of praise, thanks and fillers alone."""
    if _PRAISE_EAST.fullmatch(text):
        return True
    words = [word.lower().replace("’", "'") for word in _WORD.findall(text)]
    if not words:
        return bool(_PICTURES.search(text)) and not any(map(str.isdigit, text))
    return (
        len(words) <= _MOST_WORDS
        and "?" not in text
        and all(word in _KNOWN for word in words)
        and any(word in GOOD or word in THANKS for word in words)
    )


def is_about_the_result(text: str) -> bool:
    """Whether praise is about the result and more than thanks or a mere ok."""
    if re.search(_GOOD_EAST, text):
        return True
    words = {word.lower() for word in _WORD.findall(text)}
    return bool(words & (GOOD - {"ok", "okay", "okey", "k", "ок", "bien", "vale", "done"}))


def is_complaint(text: str) -> bool:
    return _COMPLAINT.search(text) is not None


def is_dismissal(text: str) -> bool:
    return _DISMISSAL.fullmatch(text) is not None


def is_leaving(text: str) -> bool:
    """Whether a prompt only closes the program ("exit", "bye")."""
    return _LEAVING.fullmatch(text) is not None
