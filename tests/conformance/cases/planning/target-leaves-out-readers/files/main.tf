
resource "terraform_data" "a" {
  count = 2
  input = "v${count.index}"
}
locals {
  x = regex("-(.*)$", terraform_data.a[1].id)
  y = { a = "k", b = upper(terraform_data.a[1].id) }
}
resource "terraform_data" "t" {
  input = terraform_data.a[0].id
}
output "p" {
  value = { t = terraform_data.t.input, u = terraform_data.a[1].id, x = local.x }
  precondition {
    condition     = length(terraform_data.a[1].id) > 3
    error_message = "bad ${terraform_data.t.id}"
  }
}
output "q" {
  value = local.y.a
}
output "known" {
  value = [terraform_data.a[1].input, 1]
  precondition {
    condition     = terraform_data.t.id == "never"
    error_message = "not evaluated"
  }
}
module "m" {
  source   = "./m"
  for_each = toset(["p", "q"])
}
