locals {
  texts = {
    literal       = "a: |\n  x"
    literal_space = "a: |\n  x\n  "
    literal_lines = "a: |\n  x\n\n  "
    kept          = "a: |+\n  x\n\n"
    kept_end      = "a: |+\n  x"
    folded        = "a: >\n  x\n  y"
    folded_space  = "a: >\n  x\n  y\n  "
    stripped      = "a: |-\n  x\n"
    item          = "- |\n  z"
    last_of_two   = "a: |\n  x\nb: |\n  yes"
    yes           = "a: |-\n  yes\nb: 1"
    version       = "a: |-\n  1.10\nb: 1"
    octal         = "a: |-\n  007\nb: 1"
    hexadecimal   = "a: >-\n  0x1F\nb: 1"
    null          = "a: |-\n  null\nb: 1"
    date          = "a: |-\n  2020-01-01\nb: 1"
    infinite      = "a: |-\n  .inf\nb: 1"
    less          = "a: |-\n  -.inf\nb: 1"
    exponent      = "a: |-\n  1e3\nb: 1"
    underscore    = "a: |-\n  1_000\nb: 1"
    empty         = "a: |\nb: 1"
    empty_lines   = "a: |\n\nb: 1"
    empty_folded  = "a: >-\nb: 1"
    tagged        = "a: !!str |-\n  yes\nb: 1"
    quoted        = "a: \"yes\"\nb: 'no'\n"
    key           = "? |-\n  1.10\n: x\n"
    key_null      = "? |-\n  ~\n: x\n"
    several       = "a: |\n  yes\n  no\n"
    mark          = "\ufeffa: 1\n"
    not_a_number  = "a: |-\n  .nan\nb: 1"
    certificate   = "pem: |\n  -----BEGIN-----\n  abc\n  -----END-----\nname: x"
    script        = trimspace("run: |\n  set -e\n  echo hi\n")
  }
}
output "values" {
  value = { for name, text in local.texts : name => try(jsonencode(yamldecode(text)), "error") }
}
