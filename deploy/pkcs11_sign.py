"""Sign the standard input with an Ed25519 key in a PKCS#11 token, for HALLMARK_SIGNING_COMMAND.

    HALLMARK_SIGNING_COMMAND="python -m deploy.pkcs11_sign MODULE TOKEN KEY PIN_FILE"

Needs `pip install python-pkcs11`. `pkcs11-tool --sign` of OpenSC is no substitute: it hands longer
input over in parts, which Ed25519 does not take, so it signs nothing over 1,024 bytes.
"""

import sys
from pathlib import Path

import pkcs11


def main(module: str, token: str, label: str, pin_file: str) -> None:
    """Write the signature of the standard input, 64 bytes, to the standard output.

    Args:
        module: path of the token's PKCS#11 library, such as libsofthsm2.so.
        token, label: labels of the token and of the private key.
        pin_file: file with the user's PIN, which no list of processes shows.
    """
    pin = Path(pin_file).read_text().strip()
    with pkcs11.lib(module).get_token(token_label=token).open(user_pin=pin) as session:
        key = session.get_key(object_class=pkcs11.ObjectClass.PRIVATE_KEY, label=label)
        signature = key.sign(sys.stdin.buffer.read(), mechanism=pkcs11.Mechanism.EDDSA)
    sys.stdout.buffer.write(signature)


if __name__ == "__main__":
    main(*sys.argv[1:])
