terraform {
  required_providers {
    time = {
      source  = "registry.terraform.io/hashicorp/time"
      version = "~> 0.14"
    }
    local = {
      source  = "registry.terraform.io/hashicorp/local"
      version = ">= 1.4.0, < 2.0.0"
    }
  }
}

variable "greeting" {
  type    = string
  default = "hello"
}

resource "time_static" "begun" {
  triggers = { greeting = var.greeting }
}

resource "time_offset" "later" {
  base_rfc3339 = time_static.begun.rfc3339
  offset_days  = 7
}

resource "time_sleep" "pause" {
  create_duration = "50ms"
  triggers        = { at = time_offset.later.rfc3339 }
}

resource "local_file" "note" {
  count    = 3
  filename = "${path.module}/note-${count.index}.txt"
  content  = "${var.greeting} number ${count.index} from ${time_static.begun.year}\n"

  depends_on = [time_sleep.pause]
}

data "local_file" "first" {
  filename = local_file.note[0].filename
}

output "first" {
  value = data.local_file.first.content
}
output "days_between" {
  value = (time_offset.later.unix - time_static.begun.unix) / 86400
}
