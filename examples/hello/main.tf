# The smallest configuration that shows what a plan file carries: values that only the apply knows, on their way from
# one resource to the next. It needs no provider but the built-in one.

variable "greeting" {
  type        = string
  default     = "Hello"
  description = "How the guests are greeted."
}

variable "guests" {
  type        = list(string)
  default     = ["Ada", "Grace", "Edsger"]
  description = "Who is greeted."
}

locals {
  seats = { for position, guest in var.guests : guest => position + 1 }
}

# One instance for each guest. The id of each is known only after apply.
resource "terraform_data" "guest" {
  for_each = local.seats

  input = {
    name = each.key
    seat = each.value
  }
}

# Reads the ids: a text whose parts only the apply can put together.
resource "terraform_data" "card" {
  for_each = local.seats

  input = "${var.greeting}, ${each.key}! Your ticket is ${terraform_data.guest[each.key].id}."
}

# A new greeting makes a new banner.
resource "terraform_data" "banner" {
  input            = "${var.greeting} to ${join(", ", var.guests)}"
  triggers_replace = var.greeting
}

output "banner" {
  value       = terraform_data.banner.output
  description = "What hangs over the door."
}

output "cards" {
  value       = { for guest, card in terraform_data.card : guest => card.output }
  description = "What each guest finds on the table."
}
