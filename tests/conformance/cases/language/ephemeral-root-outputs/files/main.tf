resource "terraform_data" "z" { input = "q" }
output "p" {
  ephemeral = true
  value     = nope.x
}
output "q" {
  value     = local.x
  ephemeral = true
}
locals { x = tonumber("x") }
