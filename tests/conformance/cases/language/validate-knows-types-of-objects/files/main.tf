resource "terraform_data" "u" {
  input = { a = "x", l = [1, 2] }
}

resource "terraform_data" "each" {
  for_each = terraform_data.u.id
}
resource "terraform_data" "count" {
  count = terraform_data.u
}
resource "terraform_data" "many" {
  count = 2
}
output "attribute" { value = terraform_data.u.id.foo }
output "index" { value = terraform_data.u.id[0] }
output "loop" { value = [for x in terraform_data.u.id : x] }
output "function" { value = upper(terraform_data.u) }
output "branches" { value = true ? terraform_data.u.id : [] }
output "open" { value = terraform_data.u.output.anything[0] + 1 }
output "several" { value = upper(terraform_data.many) }
module "m" {
  source = "./m"
  list   = terraform_data.u.id
}
