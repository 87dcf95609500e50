# As examples/iam-user and examples/iam-group-with-policies, without keys of a network service.
module "user" {
  source = "../../modules/iam-user"

  name                          = "vasya.pupkin"
  create_iam_user_login_profile = false
  upload_iam_user_ssh_key       = false
}

module "inactive" {
  source = "../../modules/iam-user"

  name                          = "vasya.pupkin5"
  create_iam_user_login_profile = false
  create_iam_access_key         = true
  iam_access_key_status         = "Inactive"
}

module "group" {
  source = "../../modules/iam-group-with-policies"

  name                              = "superadmins"
  group_users                       = [module.user.iam_user_name, module.inactive.iam_user_name]
  attach_iam_self_management_policy = true

  custom_group_policies = [
    {
      name = "AllowS3Listing"
      policy = jsonencode({
        Version = "2012-10-17"
        Statement = [{
          Effect   = "Allow"
          Action   = ["s3:ListAllMyBuckets"]
          Resource = "*"
        }]
      })
    },
  ]
}

module "role" {
  source = "../../modules/iam-assumable-role"

  create_role             = true
  create_instance_profile = true
  role_name_prefix        = "custom-"
  role_requires_mfa       = false
  trusted_role_services   = ["codedeploy.amazonaws.com"]
}

output "user" {
  value     = module.user
  sensitive = true
}
