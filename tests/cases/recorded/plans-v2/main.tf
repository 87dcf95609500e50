variable "word" {
  default   = "s3same"
  sensitive = true
}
variable "live" {
  ephemeral = true
  default   = "live"
}
resource "terraform_data" "first" {
  input = { list = [1, 2.5, "drei"], word = var.word }
}
resource "terraform_data" "each" {
  for_each = toset(["a", "b"])
  input    = "${each.key}-${terraform_data.first.id}"
  lifecycle {
    postcondition {
      condition     = startswith(self.output, each.key)
      error_message = "not of ${each.key}"
    }
  }
}
resource "terraform_data" "count" {
  count            = 2
  input            = [for key, one in terraform_data.each : "${key}=${one.id}" if count.index < 5]
  triggers_replace = terraform_data.first.id
  provisioner "local-exec" {
    command = "echo ${count.index} >made-${count.index} && test -n '${var.live}'"
  }
}
module "m" {
  source = "./m"
  count  = 1
  value  = terraform_data.count[1].output
}
check "c" {
  assert {
    condition     = length(terraform_data.count) == 3
    error_message = "There are ${length(terraform_data.count)} of them."
  }
}
output "lengths" {
  value = { for one in terraform_data.count[*] : one.id => length(one.output) }
}
output "inner" {
  value = module.m[0].text
}
output "word" {
  value     = terraform_data.first.output.word
  sensitive = true
}
