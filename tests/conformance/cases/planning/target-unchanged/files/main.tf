variable "v" { default = 1 }
resource "terraform_data" "s" { input = var.v }
resource "terraform_data" "c" {
  input      = 1
  depends_on = [terraform_data.s]
}
resource "terraform_data" "n" {
  input      = 1
  depends_on = [terraform_data.s]
}
resource "terraform_data" "k" {
  for_each   = toset(["x"])
  input      = 1
  depends_on = [terraform_data.s]
}
resource "terraform_data" "g" {
  input      = 1
  depends_on = [module.m]
}
locals { n = terraform_data.n.output }
module "m" {
  source = "./m"
  count  = 2
  v      = terraform_data.s.output
}
output "n" { value = local.n }
output "c" { value = terraform_data.c.output }
output "s" { value = terraform_data.s.output }
check "k" {
  assert {
    condition     = terraform_data.k["x"].output == 2
    error_message = "k"
  }
}
