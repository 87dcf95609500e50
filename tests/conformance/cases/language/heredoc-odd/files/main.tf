locals {
  name = "w"
  obj = {
    text = <<-EOT
      a
        b ${local.name}
      %{ for x in [1, 2] ~}
      ${x}
      %{ endfor ~}
    EOT
    call = upper(<<-X
	tab
	  ${"in"}
	X
    )
  }
}
output "obj" {
  value = local.obj
}
output "empty" {
  value = <<E
E
}
output "json" {
  value = jsondecode(<<-J
    {"a": [1, 2], "b": "$${x}"}
  J
  )
}
output "quotes" {
  value = <<EOT
"quoted" \n not an escape %%{x}
    EOT_
EOT
}
output "trim" {
  value = <<-EOT
    %{ if true ~}
      yes
    %{~ else ~}
      no
    %{~ endif }
    end
  EOT
}
